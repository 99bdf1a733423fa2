#!/usr/bin/env python3
"""Files of an older version (tests/data/old) in the hands of this one. Standard library only.

usage: old_files_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs
"""

import os
import shutil
import sys
import unittest
from pathlib import Path

import tuning_case
from command_test import run

OLD = tuning_case.SOURCE / "tests/data/old"
DECK = """\
task: llm
model: {path: model, dtype: fp32}
method: {name: lora, rank: 2, alpha: 4, targets: [q_proj, v_proj]}
data: {train: "text-train*.h5", test: "text-test*.h5", max_length: 160}
optimizer: {name: adamw, learning_rate: 0.002, clip_norm: 1.0}
run: {output: out, steps: 8, global_batch: 4, seed: 3, keep_checkpoints: 1, log_every: 1, deterministic: true}
evaluate: {every_steps: 3, every_epochs: 0}
"""


class OldFiles(tuning_case.TuningCase):
    def metrics(self, file, name):
        return [float(value) for value in self.dataset(str(file), "/runs/main/metrics/" + name)]

    def test_a_run_goes_on_from_its_checkpoint(self):
        shutil.copytree(OLD / "run", self.path("out"))
        os.symlink(tuning_case.MODEL, self.path("model"))
        Path(self.path("deck.yaml")).write_text(DECK)
        self.expect(0, run(3, "run", "deck.yaml", cwd=self.scratch), "resuming from out/checkpoints/step_00000006")
        results = self.path("out/results.h5")
        for name in ("train_loss", "eval_loss", "grad_norm"):
            old, new = self.metrics(OLD / "whole.h5", name), self.metrics(results, name)
            known = len(self.metrics(OLD / "run/results.h5", name))
            self.assertGreater(len(new), known, name)
            self.assertEqual(len(new), len(old), name)
            self.assertEqual(new[:known], old[:known], name)  # they were read
            for a, b in zip(new[known:], old[known:]):        # another LibTorch's sums
                self.assertAlmostEqual(a / b, 1, delta=1e-4, msg=name)
        for column in ("step", "forward", "samples"):
            rows = [self.dataset(file, "/runs/main/steps/" + column) for file in (str(OLD / "run/results.h5"), results)]
            for rank in range(3):
                self.assertEqual(rows[1][8 * rank:8 * rank + 6], rows[0][6 * rank:6 * rank + 6], column)

    def test_reports_show_what_happened(self):
        rows = [self.runs(str(OLD / name))[0] for name in ("run/results.h5", "whole.h5", "image.h5", "failed.h5")]
        self.assertEqual([row["status"] for row in rows], ["complete", "complete", "complete", "failed"])
        self.assertEqual([row["ranks"] for row in rows], ["3", "3", "2", "2"])
        self.assertEqual([row["task"] for row in self.runs(str(OLD / "share/results.h5"))], ["llm", "image"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[1:])
