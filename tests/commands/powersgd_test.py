#!/usr/bin/env python3
"""Runs whose gradients PowerSGD compresses: resuming on other numbers of ranks, bytes, refusals. Standard library only.

usage: powersgd_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import re
import struct
import sys
import unittest
from pathlib import Path

from command_test import CommandTest, run

STEPS, STOP = 6, 4
WEIGHTS = Path(__file__).resolve().parents[1] / "data/oracles/mobilenet/init.safetensors"  # trained, of 10 classes
SETTINGS = ("parallel.powersgd_rank=2", "model.freeze_batch_norm=true", "model.weights=%s" % WEIGHTS,
            "precision=fp64", "run.steps=%d" % STEPS, "schedule.total_steps=%d" % STEPS,
            "run.checkpoint_every=%d" % STOP, "evaluate.every_epochs=0", "run.keep_checkpoints=9")


class PowerSgd(CommandTest):
    def prepare(self):
        for name in ("train", "test"):
            self.copy_shards(name, {}, 1, "images", "--format", "synthetic", "--size", "32", "--classes", "10",
                             "--limit", "96")

    def train(self, ranks, output, *overrides, code=0):
        return self.expect(code, run(ranks, "run", self.deck, *SETTINGS, "run.output=" + self.path(output), *overrides))

    def losses(self, output):
        return [float(value) for value in self.dataset(self.path(output) + "/results.h5",
                                                       "/runs/main/metrics/train_loss")]

    def bytes_of(self, output):
        """Payload of all-reduces of rank 0."""
        return float(self.dataset(self.path(output) + "/results.h5",
                                  "/runs/main/communication/all_reduce/payload_bytes")[0])

    def tensors(self, output, step):
        data = Path(self.path(output), "checkpoints/step_%08d/powersgd.safetensors" % step).read_bytes()
        return json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])

    def test_resumes_on_any_number_of_ranks(self):
        self.prepare()
        for ranks in (1, 2):
            self.train(ranks, "whole%d" % ranks)
            self.assertEqual(self.tensors("whole%d" % ranks, STOP)["error.features.18.0.weight"]["shape"],
                             [1280, 80, 1, 1])
        expected = self.losses("whole1")
        self.assertEqual(len(expected), STEPS)
        for before, after in ((2, 2), (2, 1), (1, 2)):
            first = self.path("whole%d/checkpoints/step_%08d" % (before, STOP))
            output = "from%dto%d" % (before, after)
            self.train(after, output, "run.resume=" + first)
            found = self.losses(output)
            self.assertEqual(len(found), STEPS)
            for step in range(STEPS):
                self.assertAlmostEqual(found[step], expected[step], delta=1e-6 * expected[step], msg=output)
        # Something was left out of the gradients, and fewer bytes were sent.
        self.train(2, "plain", "parallel.powersgd_rank=0")
        self.assertGreater(abs(self.losses("plain")[-1] - expected[-1]), 1e-4 * expected[-1])
        self.assertLess(self.bytes_of("whole2"), 0.5 * self.bytes_of("plain"))

    def test_other_settings_do_not_resume(self):
        self.prepare()
        self.train(1, "out")
        self.train(1, "out", "parallel.powersgd_rank=1", code=2)
        _, _, err = self.train(1, "out", "parallel.powersgd_start_step=3", code=2)
        self.assertRegex(err, "parallel.powersgd_start_step has changed from 0 to 3")

    def test_half_precision_trains(self):
        self.prepare()
        self.train(2, "out", "precision=fp16", "run.steps=8")
        losses = self.losses("out")
        self.assertLess(losses[-1], 0.5 * losses[0])

    def test_memory_is_predicted(self):
        self.prepare()

        def table(*overrides):
            _, _, err = self.train(2, "out", "--dry-run", *overrides)
            rows = re.findall(r"^  (\w+).*? ([0-9.]+) ([kM])B +[0-9.]+ [kM]?B$", err, re.M)
            return {name: float(value) * {"k": 1e3, "M": 1e6}[unit] for name, value, unit in rows}

        plain, compressed = table("parallel.powersgd_rank=0"), table()
        self.assertNotIn("errors", plain)
        # Of 251 thousand values of float64 all but the smallest are in weights that are compressed.
        self.assertGreater(compressed["errors"], 0.9 * compressed["gradients"])
        self.assertLess(compressed["errors"], 1.2 * compressed["gradients"])
        self.assertEqual(compressed["buffers"], plain["buffers"], "what is allocated is known")

    def test_dp_is_refused(self):
        self.expect(2, run(1, "run", self.deck, "parallel.strategy=dp", "parallel.powersgd_rank=1"),
                    r"parallel.powersgd_rank: gradients are compressed where all ranks receive their sum "
                    r"\(parallel.strategy is dp, which sums to rank 0\) Set parallel.strategy=ddp-ds or ddp\.")

    def test_gradients_of_bfloat16_are_refused(self):
        deck = self.path("llm.yaml")
        Path(deck).write_text("{task: llm, model: {path: m, trainable_dtype: bf16}, data: {train: t.h5}}")
        self.expect(2, run(1, "run", deck, "parallel.powersgd_rank=1"),
                    r"powersgd_rank: is for float32 and float64 gradients \(model.trainable_dtype is bf16")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
