#!/usr/bin/env python3
"""Runs on several data sets that are mixed by weights. Standard library only.

usage: mix_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import shutil
import sys
import unittest
from pathlib import Path

from command_test import run
from tuning_case import MODEL, TuningCase


class Mix(TuningCase):
    def setUp(self):
        super().setUp()
        self.prepare_text("more", 60, 90)

    def train(self, weights=(3, 1), second="more"):
        return "data.train=[{files: '%s', weight: %g}, {files: '%s', weight: %g}]" % (
            self.path("text-train*.h5"), weights[0], self.path(second + "-train*.h5"), weights[1])

    def test_a_run_goes_on_with_the_same_rows_on_other_ranks(self):
        _, _, err = self.expect(0, run(1, "run", self.deck, self.train(), "run.output=" + self.path("whole"),
                                       "run.steps=24"))
        self.assertRegex(err, r"mix +75 % \S*text-train\*\.h5 \(54 rows an epoch, 1\.1[23] times its 48\), "
                              r"25 % \S*more-train\*\.h5 \(18 rows an epoch, 0\.75 times its 24\)")
        for ranks, steps in ((2, 8), (1, 16), (3, 24)):
            self.expect(0, run(ranks, "run", self.deck, self.train(), "run.steps=%d" % steps))
        for a, b in zip(self.losses("whole"), self.losses(), strict=True):
            self.assertAlmostEqual(a, b, delta=1e-5 * a)
        deck = json.loads(Path(self.checkpoint(step=24), "trainer.json").read_text())["deck"]
        self.assertRegex(deck, r"weight: 3\b")
        self.assertAlmostEqual(self.score(self.checkpoint(step=24)), self.metric("eval_loss")[-1], delta=1e-5)

    def test_other_weights_and_files_are_other_data(self):
        self.expect(0, run(1, "run", self.deck, self.train(), "run.steps=2"))
        self.prepare_text("other", 90, 120)
        for train in (self.train((3, 2)), self.train(second="other"), "data.train=" + self.path("text-train*.h5")):
            self.expect(2, run(1, "run", self.deck, train), r"data\.train has changed from \[\{files: ")

    def test_sets_of_other_tokenizers_are_refused(self):
        other = self.path("other-model")
        shutil.copytree(MODEL, other)
        Path(other, "tokenizer.json").write_text(Path(MODEL, "tokenizer.json").read_text() + "\n")
        self.prepare_text("foreign", 90, 120, other)
        self.expect(4, run(2, "run", self.deck, self.train(second="foreign")), "do not match",
                    r"tokenizers \(SHA-256\)")

    def test_typing_errors_are_named(self):
        for train, message in (("[{file: a.h5}]", r"data\.train\.1\.file: unknown key"),
                               ("[{files: a.h5, weight: -1}]", r"data\.train\.1\.weight: expected more than 0"),
                               ("[a.h5]", "expected a list of sections")):
            self.expect(2, run(1, "run", self.deck, "data.train=" + train), message)
        self.expect(2, run(1, "run", self.deck, self.train((1, 1e-9))), "an epoch of 72 rows has none of set 2")
        self.expect(4, run(1, "run", self.deck, self.train(second="nothing")), "nothing-train")
        Path(self.deck).write_text("task: image\ndata: {train: [{files: a.h5}]}\n")
        self.expect(2, run(1, "run", self.deck), "a list of sets is for text")

    def test_a_sweep_may_vary_the_weights(self):
        deck = Path(self.path("sweep.yaml"))
        deck.write_text("base: %s\nsweep:\n  cases:\n    - {name: even, %s}\n    - {name: mostly, %s}\n"
                        "run: {output: %s}\nlimits: {steps: 3, skip_steps: 1}\n" % (
                            self.deck, self.train((1, 1)).replace("=", ": "), self.train((9, 1)).replace("=", ": "),
                            self.path("sweep")))
        self.expect(0, run(1, "sweep", str(deck)))
        self.assertTrue(Path(self.path("sweep/results.h5")).exists())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
