"""What a comparison of tuning methods states, by docs/report.md."""

import math

from intervals import Estimate, of_repeats, of_share


def method_of(cell):
    return cell.middle.deck["method.name"]


def is_preference(cell):
    return method_of(cell).endswith("dpo")


def peak(cell):
    """On a GPU what tensors took at most, on a CPU the resident memory."""
    return cell.memory.get("device_peak_bytes") or cell.memory["host_peak_bytes"]


def split(cell):
    """Bytes by kind; the rest is the difference to the peak."""
    memory = {key.replace("model/", ""): value for key, value in cell.memory.items()}
    out = {"peak": peak(cell), "adapters": memory["adapters"], "gradients": memory["gradients"],
           "optimizer": memory["optimizer"], "reference": memory["reference"],
           "weights": memory["parameters"] + memory["frozen"] - memory["adapters"] - memory["reference"]}
    out["rest"] = out["peak"] - sum(value for key, value in out.items() if key != "peak")
    out["activations_predicted"] = memory["activations"]
    return out


def accuracy(cell):
    """Of one run a share of its pairs."""
    shares = [(run.last("eval_reward_accuracy"), run.last("eval_samples")) for run in cell.measured]
    shares = [(share, pairs) for share, pairs in shares if math.isfinite(share)]
    if len(shares) == 1:
        share, pairs = shares[0]
        interval = of_share(round(share * pairs), round(pairs))
        return Estimate(share, interval.low, interval.high, 1)
    return of_repeats([Estimate(share, values=1) for share, _ in shares])


def score(cell):
    return accuracy(cell) if is_preference(cell) else cell.loss


def reduced(cell, key):
    totals = cell.middle.communication.get("all_reduce")
    return totals[key] / cell.middle.num_steps if totals else math.nan


def limits(study, labels, name):
    """The numbers of the statement methods-RANKS or methods-preference-RANKS."""
    preference, ranks = "preference" in name, int(name.rsplit("-", maxsplit=1)[1])
    cells = [cell for cell in study.cells if cell.counts and cell.ranks == ranks and is_preference(cell) == preference]
    by_label = {label: cell for label, settings in labels.items() for cell in cells if cell.settings == settings}
    out = {"ranks": ranks}
    for label, cell in by_label.items():
        estimates = {".rate": cell.rate, ".preference_accuracy" if preference else ".held_out_loss": score(cell)}
        out[label + ".peak_bytes"] = peak(cell)
        for key, value in estimates.items():
            if value.known:
                out[label + key] = value.value
            if value.certain:
                out[label + key + "_low"], out[label + key + "_high"] = value.low, value.high
        for other, one in by_label.items():
            out[f"{label}/{other}.rate"] = cell.rate.value / one.rate.value
            out[f"{label}/{other}.peak_bytes"] = peak(cell) / peak(one)
    return out


def limit_rows(by_place):
    """Of the table of limits: each objective's cells on the most ranks that compare two, by peak memory."""
    out = []
    for preference in (False, True):
        cells = [cell for cell in by_place.values() if cell.counts and is_preference(cell) == preference]
        ranks = [cell.ranks for cell in cells]
        most = max((count for count in ranks if ranks.count(count) > 1), default=min(ranks, default=0))
        out += sorted((cell for cell in cells if cell.ranks == most), key=peak)
    return out


class MethodChecks:
    """Mixed into test cases with Checks."""

    def check_methods(self, found, study, labels, report):
        by_place = {(cell.settings["case"], cell.ranks): cell for cell in study.cells if cell.measured}
        self.assertEqual(sorted((one["configuration"], one["ranks"]) for one in found["methods"]), sorted(by_place))
        for one in found["methods"]:
            cell = by_place[one["configuration"], one["ranks"]]
            self.assertEqual(one["method"], method_of(cell))
            self.assertEqual(one["objective"], "preferences" if is_preference(cell) else "next-token prediction")
            self.assert_estimate(one["iteration_s"], cell.step, one["configuration"])
            self.assert_estimate(one["rate_per_s"], cell.rate, one["configuration"])
            self.assertEqual(one["memory_bytes"], split(cell))
            self.assert_same(one["all_reduce_bytes_a_step"], reduced(cell, "payload"), one["configuration"])
            self.assert_same(one["all_reduce_bus_bytes_a_step"], reduced(cell, "bus"), one["configuration"])
            key, other = ("preference_accuracy", "held_out_loss")[::1 if is_preference(cell) else -1]
            self.assert_estimate(one[key], score(cell), one["configuration"] + ": " + key)
            self.assertIsNone(one[other]["value"])
        self.check_method_tables(report, by_place)

    def check_method_tables(self, report, by_place):
        (_, rows), = report.tables("methods")
        self.assertEqual(len(rows), len(by_place))
        for row in rows:
            values = dict(row)
            cell = by_place[values["method"][0], int(values["ranks"][1])]
            held_out = cell.middle.last("eval_samples")
            self.check_row("methods", row, {
                "ranks": [cell.ranks], "iteration, ms": [1000 * end for end in ends(cell.step)],
                "tokens/s": ends(cell.rate), "peak memory": [peak(cell)], "host to device": [0.0],
                "device to device": [0.0], "all-reduced": [reduced(cell, "payload")],
                "on the bus": [reduced(cell, "bus") if cell.ranks > 1 else 0.0],
                "held-out loss": [math.nan] if is_preference(cell) else ends(cell.loss),
                "preference accuracy": ends(accuracy(cell)) if is_preference(cell) else [math.nan],
                "held out": [held_out]})
        (_, rows), = report.tables("methods-limits")
        expected = limit_rows(by_place)
        self.assertEqual(len(rows), len(expected))
        for row, cell in zip(rows, expected):
            self.assertEqual(dict(row)["method"][0], cell.settings["case"])
            self.check_row("methods-limits", row, {"peak memory": [peak(cell)], "tokens/s": ends(cell.rate),
                                                   "loss, or preference accuracy": ends(score(cell))})
        (_, rows), = report.tables("methods-memory")
        for row in rows:
            values = dict(row)
            memory = split(by_place[values["method"][0], int(values["ranks"][1])])
            self.check_row("methods-memory", row, {
                "ranks": [values["ranks"][1]], "reference copy": [memory["reference"]], "the rest": [memory["rest"]],
                "of it activations, predicted": [memory["activations_predicted"]],
                **{key: [memory[key]] for key in ("peak", "weights", "adapters", "gradients", "optimizer")}})


def ends(estimate):
    return [estimate.value, estimate.low, estimate.high]
