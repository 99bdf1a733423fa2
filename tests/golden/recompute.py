"""The report's numbers from the results files alone, by the definitions of docs/report.md and docs/results_file.md: an
implementation that shares nothing with multicard-post. Axes and configurations come from the sweep's deck, never from
what differs between runs."""

import itertools
import math

import h5py
import numpy as np

import deck_text
from intervals import Estimate, differ, of_ratios, of_repeats, of_steps, ratio
from run_findings import expected_findings

PHASES = ("data_wait", "transfer", "forward", "backward", "reduce_wait", "update", "other")
MOST_VALUES = 8  # of an option whose effect is shown
BASELINES = {"strategy": "dp", "precision": "fp32", "layout": "nchw", "pipeline": "host", "gradient_dtype": "same",
             "bucket_mb": "auto", "powersgd_rank": "0"}


def mean_of_known(values):
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else math.nan


def plain(value):
    """An attribute or element as Python has it."""
    return value.decode() if isinstance(value, bytes) else value.item() if isinstance(value, np.generic) else value


class Run:
    """One run of a file: `name`, `status`, `ranks`, `attributes`, and its numbers where it has measured steps."""

    def __init__(self, name, group, of_share=False):
        self.name, self.of_share = name, of_share
        self.attributes = {key: plain(value) for key, value in group.attrs.items()}
        self.status, self.ranks = self.attributes["status"], self.attributes["ranks"]
        self.repeat = self.attributes.get("repeat", 0)
        self.least_ranks = int(min(group["segments/ranks"][:])) if "segments" in group else self.ranks
        self.fewest_ranks = self.least_ranks if of_share else self.ranks
        self.deck = deck_text.flat(deck_text.parse(self.attributes.get("deck") or "{}"))
        self.sweep = None
        if "sweep/deck" in group:
            self.sweep = deck_text.parse(plain(group["sweep/deck"][0]))
        self.metrics = {}
        for key, values in group.get("metrics", {}).items():
            if not key.endswith("_step"):
                self.metrics[key] = (values[:], group["metrics"][key + "_step"][:])
        self.answers = [tuple(plain(group["answers"][part][i]) for part in ("prompt", "before", "after"))
                        for i in range(len(group["answers/prompt"]))] if "answers" in group else []
        self.num_steps = group["steps/step"].shape[1] if "steps/step" in group else 0
        self.memory, self.transfers, self.communication = {}, {}, {}
        self.seconds = {key: float(np.nanmax(values[:], axis=0).sum())
                        for key, values in group.get("epochs", {}).items() if values.shape[1]}
        self._read_totals(group)
        self.files = self._read_files(group)
        self.measured, self.rate, self.step, self.findings = np.array([], int), Estimate(), Estimate(), {}
        self.unit = "images" if self.attributes["task"] == "image" else "rows"
        if self.num_steps:
            steps = {key: values[:] for key, values in group["steps"].items()}
            self._read_steps(group, steps)
            self.findings = expected_findings(self, group, steps)

    def _read_totals(self, group):
        def memory(key, values):
            if isinstance(values, h5py.Dataset):
                self.memory[key] = int(values[:].max())
        if "memory" in group:
            group["memory"].visititems(memory)
        for key, values in group.get("transfers", {}).items():
            self.transfers[key] = float(values[:].mean()) / self.num_steps if self.num_steps else math.nan
        for kind, columns in group.get("communication", {}).items():
            self.communication[kind] = {
                "calls": int(columns["calls"][:].max()), "payload": int(columns["payload_bytes"][:].max()),
                "bus": float(columns["bus_bytes"][:].max()), "total": float(columns["seconds_total"][:].mean()),
                "exposed": float(columns["seconds_exposed"][:].mean()),
                "skew": mean_of_known(columns["seconds_skew"][:])}

    @staticmethod
    def _read_files(group):
        """(kind, rank) -> what was counted of it."""
        files = {}
        for path, prefix in (("input/stages", "input "), ("io/hdf5", "HDF5 ")):
            for i, name in enumerate(group[path + "/name"] if path in group else []):
                one = {key: float(group[path][key][i]) if key in group[path] else math.nan
                       for key in ("count", "bytes", "seconds", "lock_seconds")}
                files[prefix + plain(name).replace("_", " "), int(group[path]["rank"][i])] = one
        return files

    def _read_steps(self, group, steps):
        skip, first = int(group["steps"].attrs["skip_steps"]), int(group["steps"].attrs["first_step"])
        if "tokens" in steps:
            self.unit = "tokens"
        time, there = steps["step"], np.isfinite(steps["step"]) & (steps["step"] > 0)
        late = np.arange(self.num_steps) >= skip
        for start in group["segments/first_step"][:] - first if "segments" in group else []:
            if start > 0:
                late[start:start + skip] = False
        # The ranks of a task of a share change while it runs: a step counts on those that took part.
        self.measured = np.flatnonzero(late & (there.any(axis=0) if self.of_share else there.all(axis=0)))
        if not len(self.measured):
            return
        at = self.measured
        slowest = np.nanmax(time[:, at], axis=0)
        counted = steps["tokens" if self.unit == "tokens" else "samples"][:, at].sum(axis=0)
        self.step, self.rate = of_steps(slowest), of_steps(counted / slowest)
        self.mean_step = float(np.nanmean(time[:, at]))
        self.phases = {key: float(np.nanmean(steps[key][:, at])) for key in PHASES}
        self.exposed = float(np.nansum(steps["reduce_wait"][:, at]) / np.nansum(time[:, at]))
        self.data_wait = float(np.nansum(steps["data_wait"][:, at]) / np.nansum(time[:, at]))
        self._read_ranks(time, steps["reduce_wait"], [i for i in at if there[:, i].all()])
        self._read_text(steps, at)

    def _read_ranks(self, time, wait, at):
        self.own, self.spread, self.stragglers = [], math.nan, []
        if not at:
            return
        own = time[:, at] - wait[:, at]
        self.own_times = own
        self.own = [float(median) for median in np.median(own, axis=1)]
        self.spread = max(self.own) / min(self.own)
        for rank in range(len(own)) if len(own) > 1 else []:
            slowness = of_steps(own[rank] / np.median(np.delete(own, rank, axis=0), axis=0))
            if slowness.value > 1.05 and slowness.certain and slowness.low > 1:
                self.stragglers.append(rank)

    def _read_text(self, steps, at):
        self.text = None
        if "tokens" not in steps:
            return
        def total(key):
            return float(steps[key][:, at].sum(axis=0).mean())
        tokens = steps["tokens"][:, at]
        self.text = {"rows": total("samples"), "tokens": total("tokens"), "trained": total("trained_tokens"),
                     "computed": total("computed_tokens"), "longest": self.attributes.get("max_length", 0),
                     "imbalance": float((tokens.max(axis=0) * len(tokens) / tokens.sum(axis=0)).mean())}

    def last(self, metric):
        """The last value that was measured after a step; NaN without one."""
        values, steps = self.metrics.get(metric, ([], []))
        return float(values[-1]) if len(steps) and steps[-1] > 0 else math.nan

    def smoothed_losses(self):
        """The training loss as running medians over 5 steps, of long runs over a thirtieth of them."""
        values = self.metrics["train_loss"][0]
        half = max(5, 2 * (len(values) // 60) + 1) // 2
        return [float(np.median(values[max(0, i - half):i + half + 1])) for i in range(len(values))]

    def change(self, metric):
        """The value before the first step and the last one."""
        values, steps = self.metrics.get(metric, ([], []))
        return (float(values[0]) if len(steps) and steps[0] == 0 else math.nan), self.last(metric)


class Cell:
    """A configuration on one number of ranks."""

    def __init__(self, settings, ranks, runs):
        self.settings, self.ranks, self.runs = settings, ranks, runs
        self.status = next(status for status in ("complete", "stopped", "failed")
                           if any(run.status == status for run in runs))
        self.measured = [run for run in runs if self.status != "failed" and run.status == self.status
                         and len(run.measured)]
        self.fewest_ranks = min([run.fewest_ranks for run in self.measured] + [ranks])
        self.rate = of_repeats([run.rate for run in self.measured])
        self.step = of_repeats([run.step for run in self.measured])
        self.per_thousand = self.rate.inverse(1000)
        self.speedup, self.efficiency, self.baseline_ranks = Estimate(), Estimate(), None
        self.loss, self.accuracy = self._score("eval_loss"), self._score("eval_accuracy")
        self.memory = {}
        for run in self.measured:
            for key, value in run.memory.items():
                self.memory[key] = max(self.memory.get(key, 0), value)
        if self.measured:
            self.phases = {key: self._mean(lambda run, key=key: run.phases[key]) for key in PHASES}
            self.mean_step = self._mean(lambda run: run.mean_step)
            self.exposed = self._mean(lambda run: run.exposed)
            self.data_wait = self._mean(lambda run: run.data_wait)
            self.spread = self._mean(lambda run: run.spread)
            self.computing = sum(self.share(key) for key in ("forward", "backward", "update"))
            self.input = self.data_wait + self.share("transfer")

    def _mean(self, of):
        return sum(of(run) for run in self.measured) / len(self.measured)

    def _score(self, metric):
        values = [run.last(metric) for run in self.runs if run.status == self.status]
        out = of_repeats([Estimate(value, values=1) for value in values if math.isfinite(value)])
        if len(set(values)) < 2:  # equal to the last bit: that says nothing about variation
            out.low = out.high = math.nan
        return out

    def share(self, phase):
        return self.phases[phase] / self.mean_step

    @property
    def counts(self):
        return self.status == "complete" and self.rate.known

    @property
    def middle(self):
        """The run of the median rate, of an even number the upper one."""
        return sorted(self.measured, key=lambda run: run.rate.value)[len(self.measured) // 2]

    @property
    def compute_cost(self):
        """Rank-seconds of computing for a row."""
        computing = sum(self.phases[key] for key in ("forward", "backward", "update"))
        return computing * self.ranks / (self.rate.value * self.step.value)

    def text(self):
        """Means over repeats of what a step of texts holds."""
        return {key: sum(run.text[key] for run in self.measured) / len(self.measured)
                for key in self.measured[0].text}


def read_runs(path):
    with h5py.File(path) as file:
        effects = {plain(key): plain(effect) for key, effect in zip(file["keys/key"], file["keys/effect"])}
        of_share = "allocation" in file
        return [Run(name, group, of_share) for name, group in file["runs"].items()], effects


def case_settings(case):
    return {key: value for key, value in deck_text.flat(case).items() if key != "name"}


def axes_of(sweep, effects):
    """Axes by key, as the deck of a sweep writes them, and which of them change the work or only what is learnt.

    Bookkeeping makes no configuration, a single value no axis. Cases that choose a data set or a method each name the
    work; of other cases the settings that change the work are axes in addition to the name."""
    axes, work, learning = {}, set(), set()
    for key, values in (sweep.get("sweep") or {}).items():
        if key in ("ranks", "cases") or len(values) < 2 or effects.get(key) == "bookkeeping":
            continue
        axes[key] = values
        if effects[key] in ("work", "identity"):
            work.add(key)
        if effects[key] == "learning":
            learning.add(key)
    cases = (sweep.get("sweep") or {}).get("cases") or []
    if len(cases) > 1:
        axes["case"] = [case["name"] for case in cases]
        settings = [case_settings(case) for case in cases]
        sets, methods = ([one.get(key) for one in settings] for key in ("data.train", "method.name"))
        if len(set(sets)) > 1 or (None not in methods and len(set(methods)) == len(methods)):
            work.add("case")
        else:
            for key in sorted({key for one in settings for key in one}):
                values = list(dict.fromkeys(one.get(key) for one in settings))
                if effects.get(key) in ("work", "identity") and len(values) > 1:
                    raise ValueError("cases that change the work: " + key)
    return axes, work, learning


class Study:
    """Runs of one kind: those of a sweep, a single run, or of a share the tasks of one kind."""

    def __init__(self, runs, effects, world):
        self.runs, self.effects = runs, effects
        sweep = runs[0].sweep or {}
        self.axes, self.work, self.learning = axes_of(sweep, effects)
        ranks = (sweep.get("sweep") or {}).get("ranks", [str(world)])
        self.rank_counts = sorted(range(1, world + 1) if ranks == "all" else map(int, ranks)) if sweep else \
            sorted({run.ranks for run in runs})
        self.repeats = int(sweep.get("repeat", 1))
        self.cells = []
        names = list(self.axes)
        for values in itertools.product(*self.axes.values()):
            settings = dict(zip(names, values))
            of_these = [run for run in runs if all(str(run.attributes[key]) == value
                                                   for key, value in settings.items())]
            self.cells += [Cell(settings, ranks, own) for ranks in self.rank_counts
                           if (own := [run for run in of_these if run.ranks == ranks])]
        self.unit = next((run.unit for run in runs if len(run.measured)), "rows")
        self.scaling = "weak" if any(run.deck.get("run.batch_per_rank") for run in runs) else "strong"
        self._scale()

    def _scale(self):
        for cell in self.cells:
            others = [one for one in self.of_configuration(cell.settings) if one.counts]
            if not others:
                continue
            cell.baseline_ranks = others[0].ranks
            if not cell.counts or len(others) < 2:
                continue
            if cell is others[0]:
                cell.speedup, cell.efficiency = Estimate(float(cell.ranks)), Estimate(1.0)
                continue
            cell.speedup = ratio(cell.rate, others[0].rate, cell.baseline_ranks)
            cell.efficiency = ratio(cell.rate, others[0].rate, cell.baseline_ranks / cell.ranks)

    def of_configuration(self, settings):
        return [cell for cell in self.cells if cell.settings == settings]

    def cell(self, settings, ranks):
        return next((cell for cell in self.of_configuration(settings) if cell.ranks == ranks), None)

    def kind_of_work(self, cell):
        return tuple((key, value) for key, value in cell.settings.items() if key in self.work)

    def kinds(self):
        """The cells of each kind of work, in the deck's order."""
        out = {}
        for cell in self.cells:
            out.setdefault(self.kind_of_work(cell), []).append(cell)
        return list(out.values())

    def options_of(self, cell):
        """What could make it faster: neither work nor what only changes what is learnt."""
        return {key: value for key, value in cell.settings.items() if key not in self.work | self.learning}

    def baseline_of(self, key):
        values, name = self.axes[key], key.rsplit(".", maxsplit=1)[-1]
        wanted = ["plain", "baseline"] if key == "case" else [BASELINES.get(name), "false", "0"]
        return next((value for value in wanted if value in values), values[0])

    def fastest(self, cells):
        return max((cell for cell in cells if cell.counts), key=lambda cell: cell.rate.value, default=None)

    def runner_up(self, cells, best):
        """The fastest with other options on as many ranks."""
        return self.fastest([cell for cell in cells if cell.ranks == best.ranks
                             and self.options_of(cell) != self.options_of(best)])

    def baseline(self, cells, best):
        """On as many ranks, the cell with the baseline value of most options; None where that is the best itself."""
        def alike(cell):
            return sum(value == self.baseline_of(key) for key, value in self.options_of(cell).items())
        at = max((cell for cell in cells if cell.ranks == best.ranks), key=alike)
        return at if at.counts and self.options_of(at) != self.options_of(best) else None

    def effects_of_options(self):
        """By (key, value): the effect, its cells and pairs, and how many are significant or did not complete."""
        out = {}
        for key, values in self.axes.items():
            if key in self.work | self.learning or len(values) > MOST_VALUES:
                continue
            base = self.baseline_of(key)
            for value in values:
                if value != base:
                    out[key, value] = self._effect(key, value, base)
        return out

    def _effect(self, key, value, base):
        pairs = [(cell, self.cell({**cell.settings, key: base}, cell.ranks))
                 for cell in self.cells if cell.settings[key] == value]
        done = [(one, other) for one, other in pairs if one.counts and other and other.counts]
        ratios = []
        for one, other in done:
            rates = {run.repeat: run.rate.value for run in other.measured}
            ratios.append([run.rate.value / rates[run.repeat] for run in one.measured if run.repeat in rates])
        effect = of_ratios(ratios)
        if len(ratios) == 1 and len(ratios[0]) == 1:
            effect = ratio(done[0][0].rate, done[0][1].rate)
        means = [math.exp(np.log(one).mean()) for one in ratios]
        return {"ratio": effect, "is_repeated": any(len(one) > 1 for one in ratios),
                "cells": len(done), "unfinished": len(pairs) - len(done), "baseline": base,
                "significant": sum(differ(one.rate, other.rate) for one, other in done),
                "least": min(means, default=math.nan), "most": max(means, default=math.nan)}


def studies_of(path, world):
    """The studies of one file: a share's image and text tasks are two."""
    runs, effects = read_runs(path)
    if not runs[0].of_share:
        return [Study(runs, effects, world)]
    kinds = {}
    for run in runs:
        kinds.setdefault(run.attributes["task"], []).append(run)
    return [Study(group, effects, world) for group in kinds.values()]


