"""Compares what a report says with what recompute.py finds: settings, cells, runs, options; tables and .csv are in
table_checks.py, sentences in statement_checks.py, figures in figure_checks.py."""

import math

from printed import unexplained
from recompute import PHASES

TOLERANCE = 1e-9


def same(one, other, tolerance=TOLERANCE):
    """Whether two numbers agree; None and NaN are both "unknown"."""
    unknown = [value is None or not math.isfinite(value) for value in (one, other)]
    if any(unknown):
        return all(unknown)
    return math.isclose(one, other, rel_tol=tolerance, abs_tol=1e-12)


class Checks:
    """Mixed into test cases."""

    def assert_same(self, found, expected, what, tolerance=TOLERANCE):
        if not same(found, expected, tolerance):
            self.fail(f"{what}: the report has {found!r}, the results file {expected!r}")

    def assert_estimate(self, found, expected, what):
        self.assert_same(found["value"], expected.value, what)
        interval = found["interval_95"] or [None, None]
        self.assert_same(interval[0], expected.low, what + ", low")
        self.assert_same(interval[1], expected.high, what + ", high")
        if expected.certain:
            self.assertEqual((found["interval_over"], found["values"]), (expected.over, expected.values), what)

    def assert_printed(self, text, names, numbers, what):
        """Every number of a text is a rounding of one of `numbers`."""
        wrong = unexplained(text, names, numbers)
        if wrong:
            self.fail(f"{what}: {', '.join(wrong)} in {text!r} is no rounding of {sorted(map(str, numbers))}")

    def check_settings(self, found, study):
        """Axes and configurations are exactly those of the deck; returns the cells of `study` by (label, ranks)."""
        axes = {axis["key"]: axis["values"] for axis in found["axes"]}
        self.assertEqual({key: sorted(values) for key, values in axes.items()},
                         {key: sorted(values) for key, values in study.axes.items()}, "axes of the deck")
        self.assertEqual(found["scaling"], study.scaling)
        self.assertEqual(found["unit"], study.unit)
        settings = [cell.settings for cell in study.cells]
        expected = [one for i, one in enumerate(settings) if one not in settings[:i]]
        of_report = [entry["settings"] for entry in found["configurations"]]
        self.assertEqual(len(of_report), len(expected), "configurations of the deck")
        for one in expected:
            self.assertIn(one, of_report, "configurations of the deck")
        if study.axes or study.repeats > 1:  # a sweep: the whole matrix was run
            count = len(expected) * len(study.rank_counts) * study.repeats
            self.assertEqual(len(study.runs), count, "runs of the deck")
            for cell in study.cells:
                self.assertEqual(len(cell.runs), study.repeats)
            self.assertEqual(len(study.cells), len(expected) * len(study.rank_counts))

    def check_cells(self, found, study):
        for entry in found["configurations"]:
            cells = study.of_configuration(entry["settings"])
            self.assertEqual([one["ranks"] for one in entry["cells"]], [cell.ranks for cell in cells], entry["label"])
            self.assertEqual(entry["baseline_ranks"], cells[0].baseline_ranks, entry["label"])
            for one, cell in zip(entry["cells"], cells):
                self.check_cell(one, cell, f"{entry['label']} on {cell.ranks}")

    def check_cell(self, found, cell, what):
        self.assertEqual((found["status"], found["fewest_ranks"]), (cell.status, cell.fewest_ranks), what)
        self.assertEqual(sorted(found["runs"]), sorted(run.name for run in cell.runs), what)
        for key, expected in (("rate_per_s", cell.rate), ("step_s", cell.step), ("s_per_thousand", cell.per_thousand),
                              ("speedup", cell.speedup), ("efficiency", cell.efficiency), ("test_loss", cell.loss),
                              ("test_accuracy", cell.accuracy)):
            self.assert_estimate(found[key], expected, f"{what}: {key}")
        self.assertEqual(found["repeats"], len(cell.measured), what)
        if not cell.measured:
            self.assertIsNone(found["mean_phase_s"])
            return
        for key, expected in (("mean_step_s", cell.mean_step), ("exposed_share", cell.exposed),
                              ("data_wait_share", cell.data_wait), ("rank_spread", cell.spread)):
            self.assert_same(found[key], expected, f"{what}: {key}")
        for phase in PHASES:
            self.assert_same(found["mean_phase_s"][phase], cell.phases[phase], f"{what}: {phase}")
        stragglers = {}
        for run in cell.measured:
            for rank in run.stragglers:
                stragglers[str(rank)] = stragglers.get(str(rank), 0) + 1
        self.assertEqual(found["stragglers"], stragglers, what)
        self.assertEqual(found["memory_bytes"], cell.memory, what)

    def check_runs(self, found, study):
        self.assertEqual(sorted(run["name"] for run in found["runs"]), sorted(run.name for run in study.runs))
        by_name = {run.name: run for run in study.runs}
        for entry in found["runs"]:
            self.check_run(entry, by_name[entry["name"]])

    def check_run(self, found, run):
        what = "run " + run.name
        self.assertEqual((found["ranks"], found["repeat"], found["status"], found["steps"], found["measured_steps"]),
                         (run.ranks, run.repeat, run.status, run.num_steps, len(run.measured)), what)
        self.assert_estimate(found["rate_per_s"], run.rate, what + ": rate")
        self.assert_estimate(found["step_s"], run.step, what + ": step")
        self.assertEqual(found["memory_bytes"], run.memory, what)
        self.assertEqual(sorted(found["bytes_a_step"]), sorted(run.transfers), what)
        for key, value in run.transfers.items():
            self.assert_same(found["bytes_a_step"][key], value, f"{what}: {key}")
        if not len(run.measured):
            return
        self.assertEqual(found["unit"], run.unit)
        self.assert_same(found["mean_step_s"], run.mean_step, what)
        for phase in PHASES:
            self.assert_same(found["mean_phase_s"][phase], run.phases[phase], f"{what}: {phase}")
        self.assertEqual(len(found["rank_own_s"]), len(run.own))
        for rank, (one, own) in enumerate(zip(found["rank_own_s"], run.own)):
            self.assert_same(one, own, f"{what}: own time of rank {rank}")
        if run.text:
            for key, name in (("rows_a_step", "rows"), ("tokens_a_step", "tokens"), ("longest_row", "longest"),
                              ("trained_tokens_a_step", "trained"), ("computed_tokens_a_step", "computed"),
                              ("token_imbalance", "imbalance")):
                self.assert_same(found["text"][key], run.text[name], f"{what}: {key}")
        self.check_before_after(found.get("before_after"), run)

    def check_before_after(self, found, run):
        if found is None:
            self.assertFalse(any(math.isfinite(run.change(metric)[0]) for metric in ("eval_loss", "eval_perplexity")))
            self.assertEqual(run.answers, [])
            return
        for key, metric in (("test_loss", "eval_loss"), ("perplexity", "eval_perplexity"),
                            ("reward_margin", "eval_reward_margin"), ("reward_accuracy", "eval_reward_accuracy"),
                            ("exact_match", "eval_exact_match"), ("questions", "eval_questions")):
            before, after = run.change(metric)
            self.assert_same(found[key]["before"], before, f"{run.name}: {key} before")
            self.assert_same(found[key]["after"], after, f"{run.name}: {key} after")
        self.assertEqual([(one["prompt"], one["before"], one["after"]) for one in found["answers"]], run.answers)

    def check_options(self, found, study):
        expected = study.effects_of_options()
        self.assertEqual(sorted((one["option"], one["value"]) for one in found["options"]), sorted(expected))
        for one in found["options"]:
            effect = expected[one["option"], one["value"]]
            what = f"{one['option']} {one['value']}"
            self.assert_estimate(one["ratio"], effect["ratio"], what)
            self.assertEqual((one["baseline"], one["pairs_of_cells"], one["not_completed"]),
                             (effect["baseline"], effect["cells"], effect["unfinished"]), what)
            self.assert_same(one["least"], effect["least"], what + ": least")
            self.assert_same(one["most"], effect["most"], what + ": most")
