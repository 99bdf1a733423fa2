#!/usr/bin/env python3
"""share puts a task on each node where the link between them is slow, says why, and is faster than the other way.

usage: placement_test.py NAME   runs one test class
"""

import json
import re
from pathlib import Path

from nodes_case import MODEL, SOURCE, NodesTest, main

RATE = "100mbit"
IMAGE = """\
task: image
model: {name: mobilenet_v2, width: 0.5, dropout: 0.0}
data: {train: "SCRATCH/train*.h5", image_size: 32}
optimizer: {name: sgd, learning_rate: 0.005}
run: {global_batch: 8, seed: 3, log_every: 1000}
"""
LANGUAGE = """\
task: llm
model: {path: MODEL}
method: {name: lora, rank: 64, alpha: 64}
data: {train: "SCRATCH/text-train*.h5", max_length: 160}
optimizer: {name: adamw, learning_rate: 0.002}
run: {global_batch: 4, seed: 3, log_every: 1000}
"""
MEASURED = {"image": 400, "llm": 80}  # longer than an interval, so that a decision knows the times
FACTOR = 1.5  # that steps over both nodes take longer at least; some 3 to 10 without other load


class Placement(NodesTest):
    def setUp(self):
        super().setUp()
        self.prepare(train=96, test=24)
        records = json.loads((SOURCE / "inputs/text/instruction-data.json").read_text())[:60]
        self.copy_shards("text", {"text.json": json.dumps(records)}, 1, "text", "--type", "alpaca", "--tokenizer",
                         MODEL, "--in", "text.json", "--split", "0.2")
        for name, text in (("image", IMAGE), ("llm", LANGUAGE)):
            Path(self.path(name + ".yaml")).write_text(text.replace("SCRATCH", self.scratch).replace("MODEL", MODEL))
        self.nodes.do("limit", RATE)

    def share(self, output, steps, policy, mapping=()):
        """Two tasks on 2 ranks each, `steps` by name; returns the record of the share and what it printed."""
        deck = self.path(output + ".yaml")
        tasks = "".join("  - {name: %s, deck: %s.yaml, steps: %d}\n" % (name, name, number)
                        for name, number in steps.items())
        Path(deck).write_text("tasks:\n%spolicy: %s\nrun: {output: %s}\n" % (tasks, policy, self.path(output)))
        code, _, err = self.nodes.run("2,2", "share", deck, environment={"OMP_NUM_THREADS": "1", **dict(mapping)})
        self.assertEqual(code, 0, err)
        return json.loads(Path(self.path(output + "/share.json")).read_text()), err

    def test_a_node_for_each_task_is_chosen_and_faster(self):
        # Ranks are numbered by turns over the nodes, so that consecutive ones are on different nodes.
        by_turns = {"OMPI_MCA_rmaps_base_mapping_policy": "node"}
        record, log = self.share("chosen", MEASURED, "{name: adaptive, interval_s: 1}", by_turns)
        code, _, shown = self.nodes.run("2,2", "share", self.path("chosen.yaml"), "--dry-run",
                                         "run.output=" + self.path("dry"), environment=by_turns)
        self.assertEqual(code, 0, shown)
        self.assertRegex(shown, r"image: [1-4] ranks? on [12] nodes?")
        first = {}
        for interval in record["intervals"]:
            first.setdefault(interval["task"], interval)
        self.assertEqual({one["rank_list"] for one in first.values()}, {"0, 2", "1, 3"})
        chosen = {row["task"]: row for row in record["placements"] if row["is_chosen"]}
        other = {row["task"]: row for row in record["placements"] if row["placement"] == "1+1"}
        for task in ("image", "llm"):
            self.assertEqual(first[task]["placement"], "2")
            self.assertEqual(chosen[task]["placement"], "2")
            self.assertGreater(other[task]["predicted_step_s"], FACTOR * chosen[task]["predicted_step_s"])
            self.assertRegex(log, r"%s has 2 ranks on 1 node: a step of [\d.]+ ms, predicted [\d.e+]+ ms on 2 nodes"
                             r" \(1\+1\)" % re.escape(task))
        forced, _ = self.share("forced", {"image": 8, "llm": 8}, "{name: fixed, ranks: {image: 2, llm: 2}, "
                               "placement: spread, interval_s: 1}", by_turns)
        for interval in forced["intervals"]:
            self.assertEqual(interval["placement"], "1+1")
            near, far = first[interval["task"]]["measured_step_s"], interval["measured_step_s"]
            print("%s: %.1f ms on a node, %.1f ms over both (%.1f ms predicted)" % (
                interval["task"], 1000 * near, 1000 * far, 1000 * other[interval["task"]]["predicted_step_s"]))
            self.assertGreater(far, FACTOR * near)


if __name__ == "__main__":
    main()
