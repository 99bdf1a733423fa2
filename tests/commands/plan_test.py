#!/usr/bin/env python3
"""multicard plan. Standard library only.

usage: plan_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import sys
import unittest
import xml.etree.ElementTree
from pathlib import Path

from command_test import CommandTest, run

SOURCE = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"
DATA = SOURCE / "tests" / "data" / "allocation"

VISION = "gpus,rate\n1,10\n2,18\n4,30\n8,40\n"
LLM = "gpus,nodes,rate,memory_gb\n2,1,1,90\n4,1,2,40\n8,2,5,20\n"
DECK = """\
machine: {nodes: 2, gpus_per_node: 4, memory_gb: 80}
objective: makespan
tasks:
  - {name: vision, table: SCRATCH/vision.csv, work: 600, weight: 2}
  - {name: llm, table: SCRATCH/llm.csv, work: 40}
"""


class PlanTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.write("vision.csv", VISION)
        self.write("llm.csv", LLM)
        self.plan_deck = self.write("plan.yaml", DECK.replace("SCRATCH", self.scratch))

    def write(self, name, text):
        Path(self.path(name)).write_text(text)
        return self.path(name)

    def plans(self, *arguments, ranks=1):
        _, out, _ = self.expect(0, run(ranks, "plan", self.plan_deck, "--json", *arguments))
        return [json.loads(line) for line in out.splitlines()]


class Plan(PlanTest):
    def test_one_line_of_json(self):
        (plan,) = self.plans()
        self.assertEqual(list(plan), ["objective", "gpus", "value", "schedule", "baselines", "solve_ms", "bound", "gap",
                                      "search"])
        self.assertEqual((plan["bound"], plan["gap"], plan["search"]), (plan["value"], 0, "complete"))
        self.assertEqual((plan["objective"], plan["gpus"]), ("makespan", 8))
        # vision and llm on 4 GPUs each take 20 s and vision is done; llm then needs all 8
        self.assertAlmostEqual(plan["value"], 20, delta=1e-9)
        self.assertEqual(plan["baselines"], {"equal": 20, "sequential": 600 / 40 + 40 / 5})
        for entry in plan["schedule"]:
            self.assertEqual(list(entry), ["task", "gpus", "nodes", "start_s", "end_s"])
        self.assertEqual([(e["task"], e["gpus"], e["nodes"], e["start_s"], e["end_s"]) for e in plan["schedule"]],
                         [("vision", 4, 1, 0, 20), ("llm", 4, 1, 0, 20)])

    def test_intervals_of_rates_give_intervals_of_times(self):
        for name in ("vision.csv", "llm.csv"):
            lines = Path(self.path(name)).read_text().split()
            rate = lines[0].split(",").index("rate")
            rows = [line + ",%r,%r" % (0.9 * float(line.split(",")[rate]), 1.1 * float(line.split(",")[rate]))
                    for line in lines[1:]]
            self.write(name, "\n".join([lines[0] + ",rate_low,rate_high"] + rows) + "\n")
        (plan,) = self.plans()
        low, high = plan["intervals"]["value"]
        self.assertTrue(20 < low + 2 < high < 20 / 0.9 + 1, (low, high))  # the later of two
        self.assertEqual(len(plan["intervals"]["ends"]), len(plan["schedule"]))
        _, _, err = self.expect(0, run(1, "plan", self.plan_deck), "95 % interval")
        self.assertIn("value     20 s, 95 % interval", err)

    def test_a_picture(self):
        picture = self.path("new/plan.svg")
        self.expect(0, run(1, "plan", self.plan_deck, "--svg", picture), "picture   .*plan.svg")
        titles = [title.text for title in xml.etree.ElementTree.parse(picture).iter(SVG + "title")]
        self.assertEqual(titles, ["vision: 4 GPUs, 0.0-20.0 s", "llm: 4 GPUs, 0.0-20.0 s"])
        self.expect(2, run(1, "plan", self.plan_deck, "--svg", self.scratch), "--svg .* is a folder .* Name a file")

    def test_ends_and_starts_are_equal(self):
        (plan,) = self.plans("machine={nodes: 2, gpus_per_node: 4}", "objective=average-completion")
        ends = {entry["end_s"] for entry in plan["schedule"]}
        later = [entry["start_s"] for entry in plan["schedule"] if entry["start_s"] > 0]
        self.assertTrue(later)
        self.assertTrue(set(later) <= ends, plan["schedule"])

    def test_static_only_is_one_split(self):
        for objective in ("makespan", "average-completion", "weighted-throughput", "fairness"):
            (plan,) = self.plans("objective=" + objective, "static_only=true")
            self.assertEqual({entry["start_s"] for entry in plan["schedule"]}, {0}, objective)
            tasks = [entry["task"] for entry in plan["schedule"]]
            self.assertEqual(len(tasks), len(set(tasks)), objective)

    def test_values_are_as_defined(self):
        (throughput,) = self.plans("objective=weighted-throughput")
        self.assertAlmostEqual(throughput["value"], 2 * 40, delta=1e-9)  # llm gets nothing
        self.assertEqual([entry["task"] for entry in throughput["schedule"]], ["vision"])
        self.assertAlmostEqual(throughput["baselines"]["equal"], 2 * 30 + 2, delta=1e-9)
        self.assertIsNone(throughput["baselines"]["sequential"])
        (fairness,) = self.plans("objective=fairness")
        self.assertAlmostEqual(fairness["value"], min(30 / (2 * 40), 2 / 5), delta=1e-12)
        (average,) = self.plans("objective=average-completion", "static_only=true")
        self.assertAlmostEqual(average["value"], 20, delta=1e-9)

    def test_what_if_is_a_line_for_each_machine(self):
        plans = self.plans("machine={gpus: [1, 4, 8]}")
        self.assertEqual([plan["gpus"] for plan in plans], [1, 4, 8])
        self.assertIsNone(plans[0]["value"])  # llm needs 2 GPUs
        self.assertEqual(plans[0]["schedule"], [])
        self.assertEqual(plans[0]["baselines"], {"equal": None, "sequential": None})
        self.assertEqual(plans[1]["baselines"]["equal"], 600 / 18 if 600 / 18 > 40 else 40)
        self.assertLess(plans[2]["value"], plans[1]["value"])

    def test_memory_and_nodes_limit_what_is_used(self):
        (plan,) = self.plans("machine={nodes: 2, gpus_per_node: 4, memory_gb: 30}", "objective=fairness")
        self.assertEqual(plan["baselines"]["equal"], None)  # llm fits on 8 GPUs alone
        (plan,) = self.plans("machine={nodes: 1, gpus_per_node: 8}")  # on one node there is no row of 8 for llm
        self.assertTrue(all(entry["gpus"] <= 4 for entry in plan["schedule"] if entry["task"] == "llm"))

    def test_ranks_print_once(self):
        self.assertEqual(len(self.plans(ranks=2)), 1)

    def test_other_layouts(self):
        for layout, table in (("rubick", DATA / "rubick" / "llama7.csv"),
                              ("elasticflow", DATA / "elasticflow" / "resnet50.csv"),
                              ("pollux", DATA / "pollux" / "traces" / "bert")):
            deck = self.write("other.yaml", "machine: {gpus: [16, 64]}\ntasks:\n  - {name: a, table: %s, layout: %s, "
                              "work: 100}\n" % (table, layout))
            _, out, _ = self.expect(0, run(1, "plan", deck, "--json"))
            self.assertEqual(len(out.splitlines()), 2, layout)
            if layout == "rubick":
                self.assertAlmostEqual(json.loads(out.splitlines()[0])["value"], 113.0784211, delta=1e-9)

    def test_the_fastest_measured_placement_is_taken_and_named(self):
        table = self.write("rubick.csv", "exec_plan,placement,iter_time\nga,44,0.5\nzero,35,0.25\nga,62,0.125\n")
        deck = self.write("placed.yaml", "machine: {nodes: 2, gpus_per_node: 5}\ntasks:\n"
                          "  - {name: a, table: %s, layout: rubick, work: 100}\n" % table)
        _, out, err = self.expect(0, run(1, "plan", deck, "--json"))
        entry = json.loads(out)["schedule"][0]
        self.assertEqual((entry["end_s"], entry["placement"], entry["variant"]), (25, "5+3", "plan zero"))
        self.assertIn("fastest   a on 8 GPUs: placement 5+3, plan zero", err)

    def test_text_says_what_to_measure(self):
        code, out, err = run(1, "plan", str(SOURCE / "inputs" / "plan" / "example.yaml"))
        self.assertEqual((code, out), (0, ""), err)
        for words in ("vision", "llm", "baselines", "equal split", "one after another"):
            self.assertIn(words, err)
        self.assertRegex(err, r"measure +\w+ on \d+ GPUs next, which could shorten the plan to \d+ s")

    def test_a_replay_prints_a_line_for_each_policy(self):
        files = DATA / "multicard"
        deck = self.write("replay.yaml", "replay: {layout: multicard, workload: %s, traces: %s, nodes: 1, "
                          "gpus_per_node: 4, policy: [fifo, multicard, adaptive]}\n" % (files / "workload.csv", files))
        _, out, err = self.expect(0, run(1, "plan", deck), "average completion")
        self.assertRegex(err, r"(?m)^ *fifo +\d+ +[\d.]+ \w+.*\n *multicard .*\n *adaptive ")
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([line["policy"] for line in lines], ["fifo", "multicard", "adaptive"])
        for line in lines:
            self.assertEqual(list(line), ["policy", "jobs", "average_jct_s", "p99_jct_s", "makespan_s"])
            self.assertGreater(line["jobs"], 1)
            self.assertLessEqual(line["average_jct_s"], line["p99_jct_s"])

    def test_a_wrong_replay_is_refused(self):
        wrong = self.write("replay.yaml", "replay: {workload: w.csv, traces: t, policy: fifi}\n")
        code, _, err = run(1, "plan", wrong)
        self.assertEqual(code, 2, err)
        self.assertIn("fifo", err)
        code, _, err = run(1, "plan", self.write("replay.yaml", "replay: {workload: w.csv, traces: t}\n"))
        self.assertEqual(code, 4, err)
        self.assertIn("w.csv", err)

    def test_help(self):
        code, out, _ = run(1, "help", "plan")
        self.assertEqual(code, 0)
        self.assertIn("--json", out)


class PlanErrors(PlanTest):
    def test_deck(self):
        for override, words in (("objetive=makespan", "objective"), ("objective=makespam", "makespan"),
                                ("machine={gpus: 4, nodes: 2}", "machine.gpus"),
                                ("machine={nodes: 2}", "gpus_per_node"),
                                ("machine={gpus: 0}", "gpus"), ("machine={gpu: 4}", "gpus"), ("tasks=[]", "tasks"),
                                ("tasks={name: a}", "tasks"), ("tasks=[{name: a, work: 1}]", "table"),
                                ("tasks=[{table: x.csv, work: 1}]", "name"),
                                ("tasks=[{name: a, table: x.csv}]", "work"),
                                ("tasks=[{name: a, table: x.csv, work: -1}]", "work"),
                                ("tasks=[{name: a, tabel: x.csv, work: 1}]", "table"),
                                ("tasks=[{name: a, table: x, work: 1}, {name: a, table: y, work: 1}]",
                                 "two tasks"),
                                ("tasks=[{name: a, table: x, work: 1, batch: 64}]", "elasticflow"),
                                ("tasks=[{name: a, table: x, results: y, work: 1}]", "results"),
                                ("tasks=[{name: a, table: x, work: 1, layout: rubik}]", "rubick")):
            with self.subTest(override):
                _, out, _ = self.expect(2, run(1, "plan", self.plan_deck, override, "--json"), words)
                self.assertEqual(out, "")

    def test_static_only_without_room(self):
        self.expect(2, run(1, "plan", self.plan_deck, "machine={nodes: 1, gpus_per_node: 2}", "static_only=true"),
                    "static_only")

    def test_tables(self):
        for text, words in (("", "llm.csv"), ("gpus,rate\n", "no rows"), ("gpus\n1\n", "rate"),
                            ("gpus,rate\n1,x\n", "line 2"), ("gpus,rate\n1,1\n2,-3\n", "line 3"),
                            ("gpus,rate\n1.5,1\n", "line 2"), ("gpus,rate\n1,nan\n", "line 2"),
                            ("gpus,nodes,rate\n1,2,1\n", "nodes"), ("gpus,rate\n1,1,1\n", "line 2"),
                            ("gpus,rate\n64,1\n", "no rate"), ("gpus,rate\n4,0\n", "no rate")):
            with self.subTest(text):
                self.write("llm.csv", text)
                _, out, _ = self.expect(4, run(1, "plan", self.plan_deck, "--json"), words)
                self.assertEqual(out, "")

    def test_missing_files(self):
        self.expect(4, run(1, "plan", self.plan_deck, "tasks=[{name: a, table: %s, work: 1}]" %
                            self.path("vison.csv")),
                    "vision.csv")
        self.expect(4, run(1, "plan", self.plan_deck, "tasks=[{name: a, results: none.h5, work: 1}]"), "none.h5")
        self.expect(2, run(1, "plan", self.path("none.yaml")), "none.yaml")


class PlanOfSweep(PlanTest):
    def test_rates_come_from_a_results_file(self):
        self.prepare()
        sweep = self.write("sweep.yaml", "base: deck.yaml\nsweep: {ranks: [1, 2]}\nlimits: {steps: 6, skip_steps: 2}\n"
                           "repeat: 2\nrun: {output: %s}\n" % self.path("swept"))
        self.expect(0, run(2, "sweep", sweep))
        results = self.path("swept/results.h5")
        (plan,) = self.plans("machine={gpus: 2}", "tasks=[{name: a, results: %s, work: 1000}]" % results)
        rates = [float(row["rate_per_s"]) for row in self.runs(results)]
        self.assertGreater(1000 / plan["value"], 0.8 * min(rates))
        self.assertLess(1000 / plan["value"], 1.2 * max(rates))


if __name__ == "__main__":
    unittest.main(defaultTest=sys.argv[1:2] or None, argv=sys.argv[:1])
