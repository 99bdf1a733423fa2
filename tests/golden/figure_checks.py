"""Compares what figures draw, row by row, and what their titles state, with what recompute.py finds."""

import math
import re

import numpy as np

from data_sets import sets_on
from intervals import differ
from methods import accuracy, is_preference, peak, reduced, score, split
from recompute import PHASES
from statement_checks import excludes_one, named, time_ratio

LEAST_FOR_STRAGGLERS = 6  # measured steps: an interval needs as many


def ranks_text(ranks):
    return f"{ranks} rank" + ("" if ranks == 1 else "s")


class FigureChecks:
    """Mixed into test cases with Checks and StatementChecks."""

    def check_figures(self, found, study, labels):
        self.labels_of_study = [(set((label + ", " + ranks_text(cell.ranks)).split(", ")), cell)
                                for label, settings in labels.items() for cell in study.of_configuration(settings)]
        self.parts = {part for parts, _ in self.labels_of_study for part in parts}
        names = self.names_of(found) | self.parts
        for figure in found["figures"]:
            base = re.sub(r"^study-\d+-|-\d+$", "", figure["id"])
            self.assertTrue(figure["title"] and figure["rows"], figure["id"])
            drawn = self.check_rows(base, figure, study)
            expected = self.title_numbers(base, figure, study, drawn)
            what = f"figure {figure['id']}"
            self.assertEqual(sorted(figure["numbers"]), sorted(expected), what)
            for name, value in figure["numbers"].items():
                self.assert_same(value, expected[name], f"{what}: {name}")
            self.assert_printed(figure["title"], names, expected.values(), what)

    def cells_named(self, label, x=None):
        """The cells that a label (and the place on an axis of ranks) fits."""
        parts = {part for part in label.split(", ") if part in self.parts}
        self.assertTrue(parts, label)
        return [cell for of_cell, cell in self.labels_of_study if parts <= of_cell and x in (None, cell.ranks)]

    def match(self, candidates, found, value_of, what):
        """The one of the cells whose values (value, low, high) are those of a row."""
        for cell in candidates:
            expected = value_of(cell)
            ends = [expected.value, expected.low, expected.high] if hasattr(expected, "value") else [expected]
            if all(one is None and not math.isfinite(end) or one is not None and
                   math.isclose(one, end, rel_tol=1e-9, abs_tol=1e-12) for one, end in zip(found, ends)):
                return cell
        self.fail(f"{what}: {found} is of none of {[value_of(cell) for cell in candidates]}")

    def check_rows(self, base, figure, study):
        """The cells that the rows show."""
        what = "figure " + figure["id"]
        if base in ("time", "speedup", "efficiency"):
            of = {"time": lambda cell: cell.per_thousand, "speedup": lambda cell: cell.speedup,
                  "efficiency": lambda cell: cell.efficiency}[base]
            return self.lines_of_a_kind(figure, study, of)
        if re.match("(time|efficiency)-", base):
            key = next(key for key in study.axes if key.endswith(base.split("-", 1)[1]))
            of = (lambda cell: cell.per_thousand) if base[0] == "t" else (lambda cell: cell.efficiency)
            return [self.match([cell for cell in self.drawn_of(row[0]) if float(cell.settings[key]) == row[1]],
                               row[2:5], of, what) for row in figure["rows"] if row[5] == "complete"]
        if base in ("comparison", "data_sets-time", "data_sets-rate", "methods-time", "methods-rate"):
            of = (lambda cell: cell.step.scaled(1000)) if base.endswith("time") else (lambda cell: cell.rate)
            return self.check_bars(figure, of)
        if base in ("methods-bus", "methods-loss", "methods-accuracy"):
            return self.check_bars(figure, {"methods-bus": lambda cell: reduced(cell, "bus") / 1e6,
                                            "methods-loss": lambda cell: cell.loss, "methods-accuracy": accuracy}[base])
        if base in ("share", "phases", "memory", "methods-memory"):
            return self.check_parts(base, figure)
        if base.startswith("methods-limits"):
            for row in figure["rows"]:
                (cell,) = [cell for cell in self.cells_named(row[0]) if math.isclose(peak(cell) / 1e9, row[1])]
                self.match([cell], row[2:5], lambda cell: cell.rate, what)
            return []
        checks = {"options": self.check_option_bars, "heat": self.check_map, "overview": self.check_map,
                  "ranks": self.check_boxes, "allocation": self.check_allocation,
                  **{curve: self.check_curve for curve in ("train_loss", "eval_loss", "eval_accuracy", "loss_scale")}}
        self.assertIn(base, checks, "no independent values of the figure")
        return checks[base](base, figure, study)

    def lines_of_a_kind(self, figure, study, of):
        """The cells of the one kind of work (or of all kinds, a line each) that fit every row."""
        rows = [row for row in figure["rows"] if row[5] == "complete"]
        for cells in [*study.kinds(), study.cells]:
            try:
                return [self.match([cell for cell in self.cells_named(row[0], row[1]) if cell in cells], row[2:5], of,
                                   "figure " + figure["id"]) for row in rows]
            except self.failureException as failure:
                last = failure
        raise last

    def drawn_of(self, label):
        """Lines along a size leave out what all of them have in common."""
        parts = {part for part in label.split(", ") if part in self.parts}
        return [cell for of_cell, cell in self.labels_of_study if parts <= of_cell]

    def check_bars(self, figure, of):
        out = []
        for row in figure["rows"]:
            if row[5] == "complete":
                out.append(self.match(self.cells_named(row[0]), row[2:5], of, "figure " + figure["id"]))
        self.assertEqual(len({id(cell) for cell in out}), len(out), "each cell once: " + figure["id"])
        return out

    def check_parts(self, base, figure):
        kinds = {"weights": "weights", "reference copy": "reference", "adapters": "adapters", "gradients": "gradients",
                 "optimizer": "optimizer", "activations and the rest": "rest"}

        def of(part):
            name = {"collectives": "reduce_wait"}.get(part, part.replace(" ", "_"))
            return {"share": lambda cell: 100 * cell.share(name), "phases": lambda cell: 1000 * cell.phases[name],
                    "memory": lambda cell: cell.memory["host_peak_bytes"] / 1e9,
                    "methods-memory": lambda cell: split(cell)[kinds[part]] / 1e9}[base]
        out, bars = [], {}
        for label, part, value, *_, status in figure["rows"]:
            if status == "complete":
                bars.setdefault(label, []).append((part, value))
        for label, parts in bars.items():
            if base in ("share", "phases"):
                self.assertEqual(len(parts), len(PHASES))
            fits = [cell for cell in self.cells_named(label) if cell.measured and cell not in out and
                    all(math.isclose(value, of(part)(cell), rel_tol=1e-9, abs_tol=1e-12) for part, value in parts)]
            self.assertTrue(fits, f"figure {figure['id']}: the bar {label} is of no cell: {parts}")
            out.append(fits[0])
        return out

    def check_option_bars(self, _, figure, study):
        effects = [effect for _, effect in sorted(study.effects_of_options().items(), key=lambda one: one[0][0])]
        self.assertEqual(len(figure["rows"]), len(effects))
        for row, effect in zip(figure["rows"], effects):
            ratio = effect["ratio"]
            for one, end in zip(row[2:5], (ratio.value, ratio.low, ratio.high)):
                self.assert_same(one, end, f"{row[0]} in the figure of options")
        return []

    def check_map(self, base, figure, study):
        out = []
        for row in figure["rows"]:
            if row[3] != "complete":
                continue
            cells = [cell for cell in self.cells_named(row[0] + ", " + row[1]) if cell.counts]
            if base == "overview":
                best = study.fastest([cell for cell in study.cells
                                      if study.kind_of_work(cell) == study.kind_of_work(cells[0])])
                cell = next(cell for cell in cells if cell.ranks == best.ranks)
                self.assert_same(row[2], cell.rate.value / best.rate.value, "figure " + figure["id"])
            else:  # the best of what a place stands for; by default on the most ranks
                most = [cell for cell in cells if cell.ranks == study.rank_counts[-1]]
                out.append(self.match(most, row[2:3], lambda cell: cell.rate.value, "figure " + figure["id"]))
        return out

    def check_boxes(self, _, figure, study):
        rows = [row[1:6] for row in figure["rows"]]
        for cell in study.cells:
            if not cell.measured or cell.ranks < 2 or cell.middle.ranks != len(rows):
                continue
            own = cell.middle.own_times / np.median(cell.middle.own)
            if np.allclose(rows, np.percentile(own, [5, 25, 50, 75, 95], axis=1).T, rtol=1e-9):
                marked = [rank for rank, row in enumerate(figure["rows"]) if row[6]]
                self.assertEqual(marked, cell.middle.stragglers)
                return [cell]
        self.fail(f"figure {figure['id']}: the boxes are of no cell")
        return []

    def check_curve(self, base, figure, study):
        runs = [cell.middle for cell in study.cells if cell.measured]
        curves = [dict(zip(map(float, run.metrics[base][1]), run.metrics[base][0]))
                  for run in runs if base in run.metrics]
        for row in figure["rows"]:
            if row[5] != "complete":
                continue
            values = [curve.get(row[1]) for curve in curves]
            if base == "loss_scale":
                values = [math.log2(value) for value in values if value]
            if base == "train_loss":
                values = [dict(zip(run.metrics[base][1], run.smoothed_losses())).get(row[1]) for run in runs]
            self.assertTrue(any(value is not None and math.isclose(row[2], value, rel_tol=1e-9) for value in values),
                            f"figure {figure['id']}: {row}")
        return []

    def title_numbers(self, base, figure, study, drawn):
        if base == "overview":
            return self.winners_numbers(study, study.kinds())
        if base == "options":
            sure = [effect["ratio"] for effect in study.effects_of_options().values()
                    if excludes_one(effect["ratio"]) and
                    (effect["is_repeated"] or effect["significant"] == effect["cells"])]
            return named("ratio", max(sure, key=lambda one: abs(math.log(one.value)))) if sure else {}
        if base == "heat":
            return self.heat_numbers(study, drawn)
        if base in ("time", "speedup", "efficiency"):
            return self.scaling_numbers(base, study, drawn)
        if base.startswith("time-") or base.startswith("efficiency-"):
            return self.size_numbers(base, study, drawn)
        if base == "comparison":
            return {"ranks": drawn[0].ranks}
        if base.startswith("data_sets"):
            of = (lambda cell: cell.step.value) if base.endswith("time") else (lambda cell: cell.rate.value)
            values = [of(cell) for cell in sets_on(study, study.rank_counts[-1])]
            return {"ranks": study.rank_counts[-1], "ratio": max(values) / min(values)}
        if base == "share":
            shares = sorted((cell.computing, cell.ranks) for cell in drawn)
            return {"computing": shares[0][0]} if len(shares) == 1 else \
                {"least": shares[0][0], "most": shares[-1][0], "ranks": shares[0][1]}
        if base == "phases":
            cell = max(drawn, key=lambda cell: cell.exposed)
            return {"ranks": cell.ranks, "fewest_ranks": cell.fewest_ranks, "data_wait": cell.data_wait,
                    "exposed": cell.exposed}
        if base == "memory":
            return {"bytes": max(cell.memory["host_peak_bytes"] for cell in drawn)}
        if base == "methods-memory":
            return {"least": min(map(peak, drawn)), "most": max(map(peak, drawn))}
        if base == "ranks":
            return self.rank_numbers(figure, drawn[0])
        if base in ("eval_loss", "eval_accuracy"):
            values, firsts = [row[2] for row in figure["rows"]], {}
            for row in figure["rows"]:
                firsts.setdefault(row[0], row[2])
            best = min(values) if base == "eval_loss" else max(values)
            self.assertEqual("does not" in figure["title"], best in firsts.values(), figure["title"])
            return {"best": best}
        if base == "train_loss":
            values = [row[2] for row in figure["rows"] if row[0] == figure["rows"][0][0]]
            return {"first": values[0], "last": values[-1], "steps": study.cells[0].middle.num_steps}
        if base == "allocation":
            return self.allocation_numbers()
        if base == "loss_scale":
            return self.scale_numbers(study)
        return {}

    @staticmethod
    def heat_numbers(study, drawn):
        sizes = sorted(study.axes.items(), key=lambda axis: -len(axis[1]))[:2]
        if any(len(values) == len(sizes[-1][1]) and key in study.work for key, values in study.axes.items()):
            return {}
        best, second = sorted(drawn, key=lambda cell: -cell.rate.value)[:2]
        return {"rate": best.rate.value, "ranks": best.ranks} if differ(best.rate, second.rate) else {}

    def scaling_numbers(self, base, study, drawn):
        """Of the fastest cell drawn, or that of its configuration on most ranks; of different work, of the cell with
        the largest speedup."""
        kinds = {study.kind_of_work(cell) for cell in drawn}
        best = study.fastest(drawn) if len(kinds) == 1 else max(drawn, key=lambda cell: cell.speedup.value)
        best = self.scaled(study, best)
        growth, base_cell = self.growth(study, best)
        if base == "time":
            return {"thousand": 1000, **named("s_per_thousand", best.per_thousand), "ranks": best.ranks,
                    **named("baseline_s_per_thousand", base_cell.per_thousand), "baseline_ranks": base_cell.ranks}
        if base == "speedup":
            return {"ranks": best.ranks, "baseline_ranks": base_cell.ranks,
                    **(named("ratio", growth) if growth.certain else {}), **time_ratio(growth)}
        most = max((cell for cell in drawn if cell.ranks == best.ranks), key=lambda cell: cell.efficiency.value)
        wide = most.efficiency.certain and most.efficiency.high > 100 * most.efficiency.low
        return {"ranks": most.ranks, **(named("efficiency", most.efficiency) if most.efficiency.certain and not wide
                                        else {})}

    @staticmethod
    def size_numbers(base, study, drawn):
        key = next(key for key in study.axes if key.endswith(base.split("-", 1)[1]))
        sizes = sorted({float(cell.settings[key]) for cell in drawn})
        at = [[cell for cell in drawn if float(cell.settings[key]) == size] for size in (sizes[0], sizes[-1])]
        if base.startswith("time"):
            return {"thousand": 1000, "s_per_thousand": study.fastest(at[1]).per_thousand.value}
        ranks = max(cell.ranks for cell in drawn)
        first = next(cell for cell in at[0] if cell.ranks == ranks)
        last = study.cell({**first.settings, key: at[1][0].settings[key]}, ranks)
        if not differ(first.efficiency, last.efficiency):
            return {}
        return {"first": first.efficiency.value, "last": last.efficiency.value}

    def rank_numbers(self, figure, cell):
        slow = {}
        for run in cell.measured:
            for rank in run.stragglers:
                slow[rank] = slow.get(rank, 0) + 1
        slow = {rank: count for rank, count in sorted(slow.items()) if 2 * count > len(cell.measured)}
        if not slow:
            few = all(len(run.measured) < LEAST_FOR_STRAGGLERS for run in cell.measured)
            self.assertEqual("Too few" in figure["title"], few, figure["title"])
            return {}
        return {**{f"rank-{i + 1}": rank for i, rank in enumerate(slow)}, "slow_ranks": len(slow),
                "repeats": len(cell.measured), "slow_repeats": max(slow.values())}

    @staticmethod
    def scale_numbers(study):
        """Over the runs of the first kind of work that has loss scales, on most ranks."""
        kinds = [[cell.middle for cell in cells if cell.measured and cell.ranks == study.rank_counts[-1]
                  and "loss_scale" in cell.middle.metrics] for cells in study.kinds()]
        runs = next(runs for runs in kinds if runs)
        scales = np.concatenate([run.metrics["loss_scale"][0] for run in runs])
        skipped = sum(int((run.metrics["skipped"][0] > 0).sum()) for run in runs if "skipped" in run.metrics)
        return {"low": scales.min(), "high": scales.max(), "skipped": skipped, "steps": len(scales)}
