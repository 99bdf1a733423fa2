#!/usr/bin/env python3
"""Every tuning method as a task of one share, which moves between ranks, and as a plain run. Standard library
only.

usage: shared_methods_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import sys
import unittest
from pathlib import Path

from command_test import run
from tuning_case import MODEL, SOURCE, TuningCase

STEPS = 60  # some intervals long
ADAPTERS = ", rank: 4, alpha: 8"
METHODS = {"full": "", "lora": ADAPTERS, "qlora": ADAPTERS, "dpo": "", "lora-dpo": ADAPTERS, "qlora-dpo": ADAPTERS,
           "qat": ", group_size: 32", "lora-qat": ADAPTERS + ", group_size: 32"}
# Tasks whose method has another way to split them.
SPLIT = {"full-split": ("full", "full"), "qlora-split": ("qlora", "full"), "state-split": ("full", "optimizer"),
         "chosen": ("lora", "auto")}


class SharedMethods(TuningCase):
    def setUp(self):
        super().setUp()
        records = json.loads((SOURCE / "inputs/text/instruction-data-with-preference.json").read_text())[:60]
        Path(self.path("pairs.json")).write_text(json.dumps(records))
        self.expect(0, run(1, "prepare", "text", "--type", "preference", "--tokenizer", MODEL, "--in",
                           self.path("pairs.json"), "-o", self.path("pairs")))

    def overrides(self, task):
        method, shard = SPLIT.get(task, (task, "none"))
        pairs = {"data.train": self.path("pairs-*.h5"), "data.test": "null"} if method.endswith("dpo") else {}
        return {"method": "{name: %s%s}" % (method, METHODS[method]), "evaluate": "{every_steps: 0, every_epochs: 0}",
                "precision": "fp64", "parallel.shard": shard,
                "run.checkpoint_every": "0", **pairs}

    def test_groups_that_not_all_numbers_of_ranks_form_are_refused(self):
        task = "{name: one, deck: %s, overrides: {parallel.shard: hybrid}}" % self.deck
        Path(self.path("share.yaml")).write_text("tasks:\n  - %s\nrun: {output: %s}\n" % (task, self.path("shared")))
        self.expect(2, run(2, "share", self.path("share.yaml")),
                    "task one cannot be shared .its parallel.shard is hybrid, and not all numbers of ranks form")

    def task(self, name, steps):
        settings = ", ".join("%s: %s" % item for item in self.overrides(name).items())
        return "  - {name: %s, deck: %s, steps: %d, overrides: {%s}}" % (name, self.deck, steps, settings)

    def share(self, tasks, policy):
        """On 2 ranks, into the folder `shared`."""
        lines = ["tasks:", *tasks, "policy: " + policy, "run: {output: %s, resume: never}" % self.path("shared")]
        Path(self.path("share.yaml")).write_text("\n".join(lines) + "\n")
        self.expect(0, run(2, "share", self.path("share.yaml"), timeout=240))

    def check_losses(self, task):
        """Those of a plain run on one rank. How often the task has moved."""
        output = self.path("plain-" + task)
        self.expect(0, run(1, "run", self.deck, "run.output=" + output, "run.steps=%d" % STEPS,
                           *("%s=%s" % item for item in self.overrides(task).items())))
        found = self.dataset(self.path("shared/results.h5"), "/runs/%s/metrics/train_loss" % task)
        wanted = self.dataset(output + "/results.h5", "/runs/main/metrics/train_loss")
        self.assertEqual(len(found), STEPS)
        # Of trained weights that are rounded, the last bit may decide on a code.
        within = 0.1 if task == "qat" else 1e-6
        for one, other in zip(found, wanted):
            self.assertAlmostEqual(float(one), float(other), delta=within * float(other), msg=task)
        return len(self.dataset(self.path("shared/results.h5"), "/runs/%s/segments/ranks" % task)) - 1

    def test_losses_are_those_of_plain_runs(self):
        self.share([self.task(method, STEPS) for method in METHODS],
                   "{name: adaptive, interval_s: 0.1, min_gain: 0}")
        self.assertGreater(sum(self.check_losses(method) for method in METHODS), 0)

    def test_what_is_split_moves_when_a_rank_gets_free(self):
        for task in SPLIT:
            with self.subTest(task=task):
                policy = "{name: fixed, ranks: {full: 1, %s: 2}}" % task
                self.share([self.task("full", 5), self.task(task, STEPS)], policy)
                self.assertEqual(self.check_losses(task), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
