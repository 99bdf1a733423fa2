#!/usr/bin/env python3
"""What stands at the end of sharing and of planning: the report of a share, and schedules, against an independent
computation.

usage: golden_share_test.py CLASS   runs one test class; needs h5py and numpy"""

import csv
import itertools
import json

from golden_case import MODEL, SOURCE, GoldenCase, main, small

import numpy as np  # after golden_case, which finds a Python that has it


class Share(GoldenCase):
    """What sharing gained, and who had which ranks when."""

    def test_every_shipped_deck(self):
        self.images("data/tiny/train", limit=128)
        self.images("data/tiny/test", limit=32)
        self.images("data/sign_language/digits-train", limit=64)
        self.images("data/sign_language/digits-test", limit=32)
        self.texts("data/tinystories/instruct", "alpaca", "inputs/text/instruction-data.json", "--max-length", 256)
        self.texts("data/instruct/alpaca", "alpaca", "inputs/text/instruction-data.json", "--max-length", 256)
        tuned = {"model.path": MODEL, "model.dtype": "fp32", "evaluate.prompts": "[]", "evaluate.at_start": "false",
                 "evaluate.every_epochs": 0, "run.global_batch": 4}
        large = ", ".join(f"{key}: {value}" for key, value in tuned.items())
        decks = {"tiny": ["tasks.1.epochs=2", "tasks.2.steps=24"], "uneven": ["tasks.1.steps=40", "tasks.2.steps=24"],
                 "vision_and_llm": ["tasks.1.steps=16", "tasks.2.steps=8", f"tasks.2.overrides={{{large}}}",
                                    "tasks.1.overrides={model.width: 0.25}"]}
        for name, words in decks.items():
            with self.subTest(name):
                output = self.scratch / name
                self.call(2, "share", *small(f"inputs/share/{name}.yaml"), *words, "policy.interval_s=0.5",
                          f"run.output={output}")
                report, studies = self.compare([output / "results.h5"], 2)
                self.assertEqual(sorted(study.unit for study in studies), ["images", "tokens"])
                self.assertEqual(len(report.tables("allocation")), 1)


class Plan(GoldenCase):
    """`plan` on the shipped deck: the baselines and the best split by trying all, and schedules that do the work."""

    TABLES = {"vision": "inputs/plan/tables/vision.csv", "llm": "inputs/plan/tables/llm.csv"}
    WORK = {"vision": 600000.0, "llm": 1200.0}

    def plans(self, *words):
        out = self.call(1, "plan", SOURCE / "inputs/plan/example.yaml", "--json", *words)
        return [json.loads(line) for line in out.splitlines()]

    def rates(self, nodes, per_node, memory=80.0):
        """By task: the rate on (GPUs, nodes) that the machine has."""
        out = {}
        for task, path in self.TABLES.items():
            out[task] = {}
            with open(SOURCE / path, newline="") as file:
                for row in csv.DictReader(file):
                    gpus, rate = int(row["gpus"]), float(row["rate"])
                    needed = -(-gpus // per_node)
                    places = [int(row["nodes"])] if "nodes" in row else range(needed, min(nodes, gpus) + 1)
                    for place in places:
                        if rate > 0 and float(row["memory_gb"]) <= memory and needed <= place <= nodes:
                            out[task][gpus, place] = rate
        return out

    @staticmethod
    def fits(places, nodes, per_node):
        """Whether tasks on (GPUs, nodes) have room at the same time: GPUs of a task spread as evenly or not."""
        free = [(per_node,) * nodes]
        for gpus, number in places:
            free = [tuple(left - taken for left, taken in zip(state, part)) for state in free
                    for part in itertools.product(range(per_node + 1), repeat=nodes)
                    if sum(part) == gpus and sum(one > 0 for one in part) == number
                    and all(taken <= left for left, taken in zip(state, part))]
        return bool(free)

    def splits(self, rates, nodes, per_node, objective):
        """Values of all splits; a task may get nothing where that has a value."""
        weight = dict.fromkeys(self.WORK, 1.0)
        for chosen in itertools.product(*([None, *places] for places in rates.values())):
            rate = {task: rates[task][place] if place else 0.0 for task, place in zip(rates, chosen)}
            if not self.fits([place for place in chosen if place], nodes, per_node):
                continue
            if objective == "weighted-throughput":
                yield sum(weight[task] * rate[task] for task in rate)
            elif objective == "fairness":
                yield min(rate[task] / (weight[task] * max(rates[task].values())) for task in rate)
            elif all(rate.values()):
                ends = [self.WORK[task] / rate[task] for task in rate]
                yield max(ends) if objective == "makespan" else sum(ends) / len(ends)

    def check_schedule(self, plan, rates, gpus):
        done, ends = dict.fromkeys(self.WORK, 0.0), dict.fromkeys(self.WORK, 0.0)
        for one in plan["schedule"]:
            done[one["task"]] += rates[one["task"]][one["gpus"], one["nodes"]] * (one["end_s"] - one["start_s"])
            ends[one["task"]] = max(ends[one["task"]], one["end_s"])
        for task, work in self.WORK.items():
            self.assert_same(done[task], work, "work done of " + task, 1e-6)
        for at in {one["start_s"] for one in plan["schedule"]}:
            self.assertLessEqual(sum(one["gpus"] for one in plan["schedule"] if one["start_s"] <= at < one["end_s"]),
                                 gpus)
        value = max(ends.values()) if plan["objective"] == "makespan" else sum(ends.values()) / len(ends)
        self.assert_same(plan["value"], value, "value of the schedule")

    def check_plan(self, plan, nodes, per_node):
        rates, objective, gpus = self.rates(nodes, per_node), plan["objective"], nodes * per_node
        self.assertEqual(plan["gpus"], gpus)
        best = {task: max(of.values(), default=0) for task, of in rates.items()}
        rated = objective in ("weighted-throughput", "fairness")
        expected = None
        if not rated and all(best.values()):
            ends = list(itertools.accumulate(self.WORK[task] / best[task] for task in self.WORK))
            expected = ends[-1] if objective == "makespan" else sum(ends) / len(ends)
        self.assert_same(plan["baselines"]["sequential"], expected, "one after another")
        if objective == "makespan":
            self.assert_same(plan["baselines"]["equal"], self.equal(rates, gpus), "equal split")
        values = list(self.splits(rates, nodes, per_node, objective))
        if rated:
            self.assert_same(plan["value"], max(values), objective)
            return
        self.check_schedule(plan, rates, gpus)
        known = [value for value in (plan["baselines"]["sequential"], plan["baselines"]["equal"], *values) if value]
        self.assertLessEqual(plan["value"], min(known) * (1 + 1e-9), "worse than a split or one after another")

    def equal(self, rates, gpus):
        """Each GPUs / tasks, one more to the first while they last, the largest usable number below."""
        ends = []
        for i, (task, places) in enumerate(rates.items()):
            mine = gpus // len(rates) + (i < gpus % len(rates))
            usable = [count for count, _ in places if count <= mine]
            if not usable:
                return None
            ends.append(self.WORK[task] / max(rate for (count, _), rate in places.items() if count == max(usable)))
        return max(ends)

    def test_every_objective_on_two_nodes(self):
        for objective in ("makespan", "average-completion", "weighted-throughput", "fairness"):
            with self.subTest(objective):
                (plan,) = self.plans("objective=" + objective)
                self.check_plan(plan, 2, 8)

    def test_the_best_split(self):
        for objective in ("makespan", "average-completion"):
            (plan,) = self.plans("objective=" + objective, "static_only=true")
            self.assert_same(plan["value"], min(self.splits(self.rates(2, 8), 2, 8, objective)), objective)

    def test_machines_of_one_node(self):
        plans = self.plans("machine={gpus: [4, 8, 16], memory_gb: 80}")
        for plan, gpus in zip(plans, (4, 8, 16), strict=True):
            with self.subTest(gpus):
                self.check_plan(plan, 1, gpus)

    def test_rates_of_a_sweep(self):
        output = self.scratch / "swept"
        _, (study,) = self.sweep("inputs/image/tiny_scaling.yaml", "swept", **{
            "data.train": self.images(), "data.test": "null", "limits.steps": 8, "run.global_batch": 16})
        rates = {cell.ranks: float(np.median([16 / run.step.value for run in cell.runs])) for cell in study.cells}
        out = self.call(1, "plan", SOURCE / "inputs/plan/example.yaml", "--json", "machine={gpus: [1, 2]}",
                        f"tasks=[{{name: a, results: {output}/results.h5, work: 1000}}]")
        one, two = (json.loads(line) for line in out.splitlines())
        self.assert_same(one["value"], 1000 / rates[1], "one rank")
        self.assert_same(two["value"], 1000 / max(rates.values()), "one rank or two")


if __name__ == "__main__":
    main()
