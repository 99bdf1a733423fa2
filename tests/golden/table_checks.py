"""Compares the tables of report.html and the .csv files with what recompute.py finds."""

import math

from checks import same
from recompute import PHASES

NINE_DIGITS = 1e-8  # what .csv and data-v hold


def numbers_of(estimate, factor=1.0):
    return [factor * value for value in (estimate.value, estimate.low, estimate.high)]


class TableChecks:
    """Mixed into test cases with Checks."""

    def check_tables(self, report, studies, labels):
        """`labels` has for each study the settings of its configurations by label."""
        self.check_table(report, "cells", studies, labels, self.cells_of, self.cell_columns)
        self.check_table(report, "phases", studies, labels, self.measured_of, self.phase_columns)
        self.check_table(report, "memory", studies, labels, self.measured_of, self.memory_columns)
        self.check_table(report, "communication", studies, labels, self.kinds_of, self.communication_columns)
        self.check_table(report, "input_files", studies, labels, self.files_of, self.file_columns)
        self.check_table(report, "runs", studies, labels, lambda study: study.runs, self.run_columns)
        self.check_table(report, "ranks", studies, labels, self.several_on_most_ranks, self.spread_columns, True)
        self.check_table(report, "data_sets", studies, labels, self.measured_of, self.data_set_columns, True)
        self.check_options_table(report, studies)

    def check_table(self, report, name, studies, labels, rows_of, columns_of, optional=False):
        tables = report.tables(name)
        wanted = [(study, rows_of(study), of_labels) for study, of_labels in zip(studies, labels) if rows_of(study)]
        if optional and not tables:
            return
        self.assertEqual(len(tables), len(wanted), "tables " + name)
        for (head, rows), (study, expected, of_labels) in zip(tables, wanted):
            self.assertEqual(len(rows), len(expected), "rows of the table " + name)
            for row in rows:
                cells = dict(row)
                thing = self.thing_of(cells, expected, of_labels)
                self.check_row(name, row, columns_of(study, thing, head))

    def thing_of(self, row, expected, labels):
        """The cell, run, (cell, kind of collective) or (cell, kind of reads and writes, rank) of a row."""
        if "run" in row:
            return next(run for run in expected if run.name == row["run"][0])
        settings, ranks = labels[row[next(iter(row))][0]], row["ranks"][1]
        found = [one for one in expected if (one[0] if isinstance(one, tuple) else one).settings == settings
                 and (one[0] if isinstance(one, tuple) else one).ranks == ranks]
        if "kind" in row:
            found = [one for one in found if one[1] == row["kind"][0]]
        if "rank" in row:
            found = [one for one in found if one[2] == row["rank"][1]]
        self.assertEqual(len(found), 1, row)
        return found[0]

    def check_row(self, name, row, columns):
        for head, (text, value) in row:
            if head not in columns:
                self.assertIsNone(value, f"table {name}: no independent value of the column {head!r}")
                continue
            known = columns[head]
            if text in ("–", "none on CPU", "none (1 rank)", "unknown"):
                self.assertTrue(not math.isfinite(known[0]) or known[0] == 0, f"table {name}, {head}: {known}")
                continue
            self.assert_same(value, known[0], f"table {name}, {head}", NINE_DIGITS)
            self.assert_printed(text, (), known, f"table {name}, {head}")

    @staticmethod
    def cells_of(study):
        return study.cells

    @staticmethod
    def several_on_most_ranks(study):
        """Each configuration's complete cell on most ranks, of those on two or more; one has a sentence instead."""
        done = {tuple(cell.settings.items()): cell for cell in study.cells if cell.counts}
        several = [cell for cell in done.values() if cell.ranks > 1]
        return several if len(several) > 1 else []

    @staticmethod
    def spread_columns(_, cell, __):
        return {"ranks": [cell.ranks], "slowest over fastest": [cell.spread]}

    @staticmethod
    def measured_of(study):
        return [cell for cell in study.cells if cell.measured]

    @staticmethod
    def kinds_of(study):
        return [(cell, kind) for cell in study.cells if cell.measured for kind in cell.middle.communication]

    @staticmethod
    def files_of(study):
        return [(cell, kind, rank) for cell in study.cells if cell.measured for kind, rank in cell.middle.files]

    @staticmethod
    def cell_columns(study, cell, head):
        out = {"ranks": [cell.ranks, 1], study.unit + "/s": numbers_of(cell.rate),
               "s for 1,000": [cell.per_thousand.value], "speedup": numbers_of(cell.speedup),
               "efficiency": numbers_of(cell.efficiency), "step, ms": [1000 * cell.step.value],
               "exposed": [cell.exposed if cell.measured else math.nan],
               "data wait": [cell.data_wait if cell.measured else math.nan],
               "complete": [len(cell.measured) if cell.status == "complete" else 0, len(cell.runs)]}
        for name in head:
            if name.startswith("test "):
                out[name] = numbers_of(cell.accuracy if "accuracy" in name else cell.loss)
        return out

    @staticmethod
    def phase_columns(_, cell, __):
        out = {"ranks": [cell.ranks], "mean step": [1000 * cell.mean_step]}
        return {**out, **{phase.replace("_", " "): [1000 * cell.phases[phase]] for phase in PHASES}}

    @staticmethod
    def memory_columns(_, cell, __):
        out = {key.replace("_bytes", "").replace("_", " ").replace("/", " "): [value]
               for key, value in cell.memory.items()}
        return {**out, "ranks": [cell.ranks]}

    @staticmethod
    def communication_columns(_, thing, __):
        cell, kind = thing
        totals = cell.middle.communication[kind]
        total, exposed = totals["total"], totals["exposed"]
        return {"ranks": [cell.ranks], "calls": [totals["calls"]], "payload": [totals["payload"]],
                "on the bus": [totals["bus"]], "total, s": [total], "exposed, s": [exposed],
                "waiting for ranks, s": [totals["skew"]],
                "overlapped": [max(0.0, 1 - exposed / total) if total > 0 else math.nan]}

    @staticmethod
    def file_columns(_, thing, __):
        cell, kind, rank = thing
        files = cell.middle.files[kind, rank]
        return {"ranks": [cell.ranks], "rank": [rank], "calls": [files["count"]], "bytes": [files["bytes"]],
                "total, s": [files["seconds"]], "waiting for the lock, s": [files["lock_seconds"]],
                "GB/s": [files["bytes"] / files["seconds"] / 1e9 if files["bytes"] and files["seconds"] else math.nan]}

    @staticmethod
    def run_columns(study, run, _):
        there = len(run.measured) > 0
        return {"ranks": [run.ranks], "repeat": [run.repeat], study.unit + "/s": numbers_of(run.rate),
                "step, ms": [1000 * run.step.value], "exposed": [run.exposed if there else math.nan],
                "data wait": [run.data_wait if there else math.nan],
                "rank spread": [run.spread if there else math.nan], "steps": [run.num_steps]}

    @staticmethod
    def data_set_columns(study, cell, _):
        text = cell.text()
        return {"ranks": [cell.ranks], "rows": [text["rows"]], "mean row": [text["tokens"] / text["rows"]],
                "longest row": [text["longest"]], "tokens": [text["tokens"]],
                "trained": [text["trained"] / text["tokens"]], "padding": [1 - text["tokens"] / text["computed"]],
                "imbalance": [text["imbalance"]], "step, ms": numbers_of(cell.step, 1000),
                study.unit + "/s": numbers_of(cell.rate), "speedup": numbers_of(cell.speedup)}

    def check_options_table(self, report, studies):
        wanted = [study.effects_of_options() for study in studies if study.effects_of_options()]
        tables = report.tables("options")
        self.assertEqual(len(tables), len(wanted))
        for (_, rows), effects in zip(tables, wanted):
            self.assertEqual(len(rows), len(effects))
            for row, effect in zip(rows, sorted(effects.items(), key=lambda one: one[0][0])):
                effect = effect[1]
                self.check_row("options", row, {
                    "times the rate": numbers_of(effect["ratio"]), "pairs of runs": [effect["ratio"].values],
                    "cells": [effect["cells"]], "not completed": [effect["unfinished"]],
                    "least": [effect["least"]], "most": [effect["most"]]})

    # .csv

    def check_number(self, text, expected, what):
        found = float(text) if text else math.nan
        if not same(found, expected, NINE_DIGITS):
            self.fail(f"{what}: {text!r} instead of {expected!r}")

    def check_estimate_columns(self, line, name, estimate):
        for end, value in (("", estimate.value), ("_low", estimate.low), ("_high", estimate.high)):
            self.check_number(line[name + end], value, name + end)

    def check_csv(self, report, studies, labels):
        lines = report.csv("cells.csv")
        self.assertEqual(len(lines), sum(len(study.cells) for study in studies))
        for line in lines:
            number = int(line["study"]) - 1
            cell = studies[number].cell(labels[number][line["configuration"]], int(line["ranks"]))
            for key, value in cell.settings.items():
                self.assertEqual(line[key], value)
            self.assertEqual((line["status"], int(line["runs"])), (cell.status, len(cell.runs)))
            for name, estimate in (("rate_per_s", cell.rate), ("s_per_thousand", cell.per_thousand),
                                   ("step_s", cell.step), ("speedup", cell.speedup), ("efficiency", cell.efficiency),
                                   ("test_loss", cell.loss), ("test_accuracy", cell.accuracy)):
                self.check_estimate_columns(line, name, estimate)
            for phase in PHASES if cell.measured else ():
                self.check_number(line[phase + "_share"], cell.share(phase), phase)
        lines = report.csv("runs.csv")
        self.assertEqual(len(lines), sum(len(study.runs) for study in studies))
        for line in lines:
            run = next(run for run in studies[int(line["study"]) - 1].runs if run.name == line["run"])
            self.check_run_line(line, run)

    def check_run_line(self, line, run):
        self.assertEqual((line["status"], int(line["ranks"]), int(line["steps"]), int(line["measured_steps"])),
                         (run.status, run.ranks, run.num_steps, len(run.measured)))
        self.check_estimate_columns(line, "rate_per_s", run.rate)
        self.check_estimate_columns(line, "step_s", run.step)
        for key, value in run.transfers.items():
            self.check_number(line[key + "_bytes_a_step"], value, key)
        for key, value in run.seconds.items():
            self.check_number(line[key + "_s"], value, key)
        for metric in ("train_loss", "eval_loss", "eval_accuracy"):
            values = run.metrics.get(metric, ([math.nan], None))[0]
            self.check_number(line["last_" + metric], values[-1], metric)
        if len(run.measured):
            for key, value in (("mean_step_s", run.mean_step), ("exposed_share", run.exposed),
                               ("data_wait_share", run.data_wait), ("rank_spread", run.spread)):
                self.check_number(line[key], value, key)
            for phase in PHASES:
                self.check_number(line[f"mean_{phase}_s"], run.phases[phase], phase)
            self.assertEqual(line["stragglers"], " ".join(map(str, run.stragglers)))
