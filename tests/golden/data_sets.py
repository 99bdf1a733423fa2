"""What the lengths of data sets explain, by docs/report.md."""

import math

import numpy as np

from intervals import Estimate

EQUAL = 1.1       # tokens of all sets are meant to be equal up to this ratio
HELD_EQUAL = 0.02  # what equal steps are held to


def sets_on(study, ranks):
    return [cell for cell in study.cells if cell.ranks == ranks and cell.counts]


def share_explained(times, sizes):
    logs, rest = np.log(times), np.log(np.array(times) / sizes)
    return 1 - ((rest - rest.mean()) ** 2).sum() / ((logs - logs.mean()) ** 2).sum()


def explained(steps, sizes):
    """Its interval: each time in turn is moved to both ends of its own; the largest changes upwards and downwards are
    added in quadrature."""
    times = [step.value for step in steps]
    out = Estimate(float(share_explained(times, sizes)), values=min(step.values for step in steps))
    if not all(step.certain for step in steps):
        return out
    up = down = 0.0
    for i, step in enumerate(steps):
        changes = [share_explained(times[:i] + [end] + times[i + 1:], sizes) - out.value
                   for end in (step.low, step.high)]
        up, down = math.hypot(up, max(0.0, *changes)), math.hypot(down, min(0.0, *changes))
    out.low, out.high = out.value - down, min(1.0, out.value + up)
    return out


def length_effect(study, ranks):
    """The numbers of the statement data_sets-RANKS."""
    cells = sets_on(study, ranks)
    texts = [cell.text() for cell in cells]
    tokens = [text["tokens"] for text in texts]
    slowest = max(cells, key=lambda cell: cell.step.value).step
    quickest = min(cells, key=lambda cell: cell.step.value).step
    out = {"ranks": ranks, "data_sets": len(cells), "time_spread": slowest.value / quickest.value,
           "token_spread": max(tokens) / min(tokens), "held_equal": HELD_EQUAL,
           "token_deviation": (max(tokens) - min(tokens)) / (max(tokens) + min(tokens))}
    estimates = {"slowest_ms": slowest.scaled(1000), "quickest_ms": quickest.scaled(1000), "explained": Estimate(),
                 "explained_with_padding": Estimate()}
    if out["token_spread"] > EQUAL:
        steps = [cell.step for cell in cells]
        estimates["explained"] = explained(steps, tokens)
        estimates["explained_with_padding"] = explained(steps, [text["computed"] for text in texts])
    for name, value in estimates.items():
        out[name] = value.value
        if value.certain:
            out[name + "_low"], out[name + "_high"] = value.low, value.high
    return out
