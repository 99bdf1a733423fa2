#!/usr/bin/env python3
"""Runs that choose how gradients are exchanged by the time of their first steps. Standard library only.

usage: exchange_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import re
import sys
import unittest
from pathlib import Path

from command_test import run
from tuning_case import TuningCase

MEASURED = ("parallel.bucket_mb=measured", "parallel.gradient_dtype=measured", "run.deterministic=false",
            "method={name: full}", "run.checkpoint_every=0", "evaluate.every_steps=0")


class MeasuredExchange(TuningCase):
    def reasons(self, output="out"):
        results = self.path(output + "/results.h5")
        shown = {key: self.attribute(results, "/runs/main/measured_" + key) for key in ("bucket_mb", "gradient_dtype")}
        return {key: re.search(r'\(0\): "(.*)"', text).group(1) for key, text in shown.items()}

    def state(self, step):
        return json.loads(Path(self.checkpoint(step=step), "trainer.json").read_text())

    def test_a_run_chooses_says_why_and_keeps_its_choice(self):
        _, _, err = self.expect(0, run(2, "run", self.deck, *MEASURED, "run.steps=100"),
                                r"measured +parallel\.gradient_dtype (same|bf16): .*, 9 rounds",
                                r"measured +parallel\.bucket_mb (auto|\d+): .*, [6-9] rounds")
        reasons = self.reasons()
        for reason in reasons.values():
            self.assertIn(reason, err)
        state = self.state(100)
        self.assertEqual(state["text"]["measured_gradient_dtype"], reasons["gradient_dtype"])
        is_16_bit = reasons["gradient_dtype"].startswith("bf16")
        self.assertEqual(state["extra"]["measured_gradient_16bit"], 1.0 if is_16_bit else 0.0)

        _, _, err = self.expect(0, run(2, "run", self.deck, *MEASURED, "run.steps=104"))
        self.assertIn(reasons["gradient_dtype"], err)
        self.assertEqual(self.reasons(), reasons)
        self.assertEqual(self.state(104)["extra"]["measured_bucket_mb"], state["extra"]["measured_bucket_mb"])

    def test_short_runs_and_single_ranks_keep_the_defaults(self):
        self.expect(0, run(2, "run", self.deck, *MEASURED, "run.steps=8"))
        self.assertRegex(self.reasons()["gradient_dtype"], "^same: 2 settings need 14 steps to compare")
        self.expect(0, run(1, "run", self.deck, *MEASURED, "run.steps=8", "run.output=" + self.path("one")))
        self.assertEqual(self.reasons("one")["bucket_mb"], "auto: one rank exchanges nothing")

    def test_it_is_refused_where_runs_are_compared_or_repeated(self):
        self.expect(2, run(1, "run", self.deck, *MEASURED, "run.deterministic=true"),
                    r"parallel\.bucket_mb: measured depends on the time of steps \(run\.deterministic is true\)")
        for axis in ("parallel.bucket_mb: [1, measured]",
                     "cases: [{name: a, parallel.gradient_dtype: measured}, {name: b}]"):
            Path(self.path("sweep.yaml")).write_text(
                "base: deck.yaml\nrun: {output: %s}\nsweep: {%s}\n" % (self.path("sweep"), axis))
            self.expect(2, run(1, "sweep", self.path("sweep.yaml")), "measured is no value of an axis")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[1:])
