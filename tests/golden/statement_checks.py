"""Compares the sentences of a report, found by their ids, with what recompute.py finds: their numbers, that each number
that they print is a rounding of one of these, and that they claim no difference where the interval holds none."""

import math
from itertools import takewhile

from data_sets import length_effect
from intervals import Estimate, differ, ratio
from methods import limits

LEAST_STEPS = 3  # measured: runs of fewer advise nothing
EFFICIENT = 0.8


def spread_out(**values):
    """Numbers by name, where an Estimate is NAME and, with an interval, NAME_low and NAME_high."""
    out = {}
    for name, value in values.items():
        out.update(named(name, value))
    return out


def named(name, value):
    if not isinstance(value, Estimate):
        return {name: value}
    ends = {name + "_low": value.low, name + "_high": value.high} if value.certain else {}
    return {name: value.value, **ends}


def excludes_one(estimate):
    return estimate.certain and not estimate.low <= 1 <= estimate.high


def time_ratio(rates):
    """Of what is measurably slower the text has the ratio of the times."""
    if not excludes_one(rates) or rates.value > 1:
        return {}
    return {"time_ratio": 1 / rates.value, "time_ratio_low": 1 / rates.high, "time_ratio_high": 1 / rates.low}


class StatementChecks:
    """Mixed into test cases with Checks."""

    def check_statements(self, found, study, labels):
        """`labels` has the settings of the configurations by label."""
        names = self.names_of(found)
        kinds = study.kinds()
        seen = set()
        for statement in found["answers"] + found["advice"]:
            self.assertTrue(statement["id"] and statement["text"])
            expected = self.expected_numbers(statement["id"], study, kinds, labels, statement in found["advice"])
            self.check_numbers(statement, expected, names)
            seen.add(statement["id"])
        self.check_claims(found, study, kinds)
        self.check_needed(seen, study, kinds)

    @staticmethod
    def names_of(found):
        """Texts with numbers in them that state nothing: labels and values of settings."""
        out = {found["title"]}
        for entry in found["configurations"]:
            out |= {entry["label"], entry["options_label"], entry["work_label"]}
            out |= set((entry["options_label"] + ", " + entry["work_label"]).split(", "))
        for option in found["options"]:
            out |= {option["least_at"], option["most_at"]}
        return out

    def check_numbers(self, statement, expected, names):
        what = f"statement {statement['id']}"
        self.assertEqual(sorted(statement["numbers"]), sorted(expected), what + ": " + statement["text"])
        for name, value in statement["numbers"].items():
            self.assert_same(value, expected[name], f"{what}: {name}")
        self.assert_printed(statement["text"], names, expected.values(), what)

    def expected_numbers(self, name, study, kinds, labels, is_advice):
        if name.startswith("work-"):
            return self.work_numbers(study, kinds[int(name[5:]) - 1])
        if name.startswith("data_sets-"):
            return length_effect(study, int(name[10:]))
        if name.startswith("methods-"):
            return limits(study, labels, name)
        if name.startswith("option."):
            return self.option_numbers(study, name[len("option."):])
        if is_advice and name == "ranks":
            return self.ranks_that_pay(study, kinds)
        makers = {"speedup": self.speedup_numbers, "rate": self.rate_numbers, "fastest": self.fastest_numbers,
                  "bottleneck": self.bottleneck_numbers, "runner-up": self.runner_up_numbers,
                  "baseline": self.baseline_numbers, "training": self.training_numbers}
        if name in makers:
            return makers[name](study, kinds[0])
        if name == "winners":
            return self.winners_numbers(study, kinds)
        if name == "failures":
            return {"runs": len(study.runs), **{status: sum(run.status == status for run in study.runs)
                                                for status in ("failed", "stopped")}}
        if name == "none":
            return self.no_answer_numbers(study.cells)
        if name in ("repeats", "objectives", "rounded"):
            return {}
        raise self.failureException(f"no independent value of the statement {name!r}")

    # What a sentence is about.

    @staticmethod
    def scaled(study, best):
        """The best cell, or where it is on the fewest ranks the one of its configuration on most."""
        done = [cell for cell in study.of_configuration(best.settings) if cell.counts]
        return done[-1] if best is done[0] else best

    @staticmethod
    def growth(study, cell):
        base = study.cell(cell.settings, cell.baseline_ranks)
        return ratio(cell.rate, base.rate), base

    def speedup_numbers(self, study, cells):
        cell = self.scaled(study, study.fastest(cells))
        growth, base = self.growth(study, cell)
        out = {"baseline_ranks": base.ranks, "ranks": cell.ranks}
        if growth.certain:
            out.update(named("ratio", growth))
        if excludes_one(growth):
            out.update(named("efficiency", cell.efficiency))
            out.update(time_ratio(growth))
        return out

    @staticmethod
    def rate_numbers(study, cells):
        best = study.fastest(cells)
        return spread_out(rate=best.rate, values=best.rate.values, ranks=best.ranks)

    def fastest_numbers(self, study, cells):
        completed = {tuple(cell.settings.items()) for cell in cells if cell.counts}
        return {**self.rate_numbers(study, cells), "configurations": len(completed),
                "all_configurations": len({tuple(cell.settings.items()) for cell in cells})}

    @staticmethod
    def ratio_numbers(best, other):
        quotient = ratio(best.rate, other.rate)
        return named("ratio", quotient) if quotient.certain else {}

    def runner_up_numbers(self, study, cells):
        best = study.fastest(cells)
        return self.ratio_numbers(best, study.runner_up(cells, best))

    def baseline_numbers(self, study, cells):
        best = study.fastest(cells)
        return self.ratio_numbers(best, study.baseline(cells, best))

    def bottleneck_numbers(self, study, cells):
        if len(study.cells) == 1:
            cell = study.cells[0]
        else:
            cell = study.fastest(cells)
            if len({tuple(one.settings.items()) for one in cells}) == 1:
                cell = self.scaled(study, cell)
        out = {"step_ms": 1000 * cell.step.value, "ranks": cell.ranks, "fewest_ranks": cell.fewest_ranks,
               "computing": cell.computing, "communication": cell.exposed, "input": cell.input}
        if cell.baseline_ranks != cell.ranks and cell.efficiency.certain and cell.efficiency.high < 1:
            growth = cell.compute_cost / study.cell(cell.settings, cell.baseline_ranks).compute_cost
            if growth > 1.1:
                out.update(computing_growth=growth, baseline_ranks=cell.baseline_ranks)
        return out

    @staticmethod
    def training_numbers(study, _):
        """Of the measures of a single configuration the first that it has: what a tuning changed, test accuracy, test
        loss."""
        cell, run = study.cells[0], study.cells[0].middle
        out = {"steps": run.num_steps, "rate": cell.rate.value, "ranks": cell.ranks,
               "fewest_ranks": run.least_ranks}
        if run.seconds.get("train", 0) > 0:
            out["seconds"] = run.seconds["train"]
        is_tuned = run.answers or any(math.isfinite(run.change(metric)[0]) for metric in
                                      ("eval_loss", "eval_reward_accuracy"))
        for metric in ("eval_reward_accuracy", "eval_loss") if is_tuned and len(cell.measured) == 1 else ():
            before, after = run.change(metric)
            if math.isfinite(after):
                return {**out, "after": after, **({"before": before} if math.isfinite(before) else {})}
        if cell.accuracy.known:
            return {**out, **named("accuracy", cell.accuracy)}
        if cell.loss.known:
            return {**out, **named("loss", cell.loss)}
        before, *_, after = run.smoothed_losses()
        return {**out, "before": before, "after": after}

    def work_numbers(self, study, cells):
        best = study.fastest(cells)
        if best is None:
            return self.no_answer_numbers(cells)
        out = self.rate_numbers(study, cells)
        second, base = study.runner_up(cells, best), study.baseline(cells, best)
        if second and differ(best.rate, second.rate):
            out["runner-up"] = best.rate.value / second.rate.value
        if base and base is not second and differ(best.rate, base.rate):
            out["baseline"] = best.rate.value / base.rate.value
        if best.efficiency.certain and best.ranks != best.baseline_ranks:
            out.update(named("efficiency", best.efficiency))
        return out

    @staticmethod
    def no_answer_numbers(cells):
        """Of cells of which none was measured."""
        runs = [run for cell in cells for run in cell.runs]
        failed = [run for run in runs if run.status == "failed"]
        out = {"runs": len(runs), "failed": len(failed), "steps": max(run.num_steps for run in runs)}
        if failed:
            problems = [run.attributes.get("error", "").split(" (")[0] for run in failed]
            out["with_this_error"] = max(problems.count(problem) for problem in problems)
        return out

    @staticmethod
    def winners_numbers(study, kinds):
        """How many kinds of work one set of options is measurably the fastest for."""
        if not any(study.options_of(cell) for cell in study.cells):
            return {}
        winners = []
        for cells in kinds:
            best = study.fastest(cells)
            if best is not None:
                second = study.runner_up(cells, best)
                winners.append(tuple(study.options_of(best).items()) if second and differ(best.rate, second.rate)
                               else None)
        if not winners:
            return {}
        clear = [winner for winner in winners if winner]
        return {"kinds": len(winners), "clear_wins": max((clear.count(one) for one in clear), default=0)}

    @staticmethod
    def option_numbers(study, key):
        out = {}
        for (option, value), effect in study.effects_of_options().items():
            if option == key:
                out.update(named(value + ".ratio", effect["ratio"]))
                out[value + ".pairs"] = effect["ratio"].values
                out.update({f"{value}.{name}": effect[name]
                            for name in ("cells", "significant", "unfinished", "least", "most")})
        return out

    @staticmethod
    def ranks_that_pay(study, kinds):
        out = {"efficiency": EFFICIENT}
        for cells in kinds:
            best = study.fastest(cells)
            if best is None or not best.efficiency.known:
                continue
            done = [cell for cell in study.of_configuration(best.settings) if cell.efficiency.known]
            if all(cell.efficiency.certain for cell in done[1:]):
                out[f"ranks-{len(out)}"] = max(
                    cell.ranks for cell in takewhile(lambda cell: cell.efficiency.value >= EFFICIENT, done))
        return out

    # Claims.

    def check_claims(self, found, study, kinds):
        """No interval, or one that holds 1: no claim."""
        for statement in found["answers"]:
            text, name = statement["text"], statement["id"]
            if name == "speedup":
                growth, _ = self.growth(study, self.scaled(study, study.fastest(kinds[0])))
                wanted = "times as fast" if growth.value > 1 else "times as long"
                self.assertEqual(wanted in text, excludes_one(growth), text)
            elif name in ("runner-up", "baseline"):
                best = study.fastest(kinds[0])
                other = study.runner_up(kinds[0], best) if name == "runner-up" else study.baseline(kinds[0], best)
                self.assertEqual(text.startswith("It does"), differ(best.rate, other.rate), text)
            elif name == "fastest":
                best = study.fastest(kinds[0])
                second = study.runner_up(kinds[0], best)
                self.assertEqual(text.startswith("The fastest"), bool(second and differ(best.rate, second.rate)), text)

    def check_needed(self, seen, study, kinds):
        """Questions that must not stay unanswered."""
        one_kind = len(kinds) == 1
        configurations = {tuple(cell.settings.items()) for cell in study.cells}
        if one_kind and any(cell.speedup.certain for cell in study.cells):
            self.assertIn("speedup", seen)
        if one_kind and len(configurations) > 1 and study.fastest(kinds[0]):
            self.assertIn("fastest", seen)
        if not one_kind and "case" not in study.axes:
            self.assertLessEqual({"winners"} | {f"work-{i + 1}" for i in range(len(kinds))}, seen)
        if any(run.status != "complete" for run in study.runs):
            self.assertIn("failures", seen)
        if all(len(run.measured) >= LEAST_STEPS for cell in study.cells for run in cell.measured):
            for option, _ in study.effects_of_options():
                self.assertIn("option." + option, seen)
