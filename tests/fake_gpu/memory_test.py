#!/usr/bin/env python3
"""The memory that a run is predicted to take on a GPU is what it takes, or up to 15 % more.

usage: memory_test.py NAME   runs one test class; see fake_run.py
"""

import re
import shutil
import tempfile
import unittest
from pathlib import Path

from decks import Inputs, SMOLLM2
from fake_run import SOURCE, main, memory_of, run

MOST_OVER = 1.15
WORKSPACE = 32 << 20  # bytes that each convolution asks cuDNN for

# model, pixels, rows a step, precision
IMAGES = [(model, size, batch, precision)
          for model in ("mobilenet_v2", "resnet50")
          for size, batch in ((96, 128), (160, 48), (224, 96))
          for precision in ("fp32", "bf16")]
LORA, FULL = "{name: lora, rank: 16, alpha: 32, targets: all-linear}", "{name: full}"
# shape, method, checkpointing, tokens a row, packed, rows a step, rows at a time, precision of what is trained
TEXTS = [
    ("135M", LORA, False, 512, True, 8, 4, "fp32"),
    ("135M", LORA, True, 2048, True, 16, 16, "fp32"),
    ("135M", LORA, False, 512, False, 32, 8, "fp32"),
    ("135M", FULL, False, 512, True, 8, 8, "fp32"),
    ("135M", FULL, True, 1024, True, 16, 4, "fp32"),
    ("135M", FULL, False, 512, False, 16, 2, "fp32"),
    ("8B", LORA, True, 2048, True, 4, 2, "fp32"),
    ("8B", LORA, False, 2048, True, 4, 2, "fp32"),
    ("8B", LORA, True, 2048, False, 8, 8, "fp32"),
    ("8B", FULL, True, 2048, True, 2, 1, "bf16"),
]


class MemoryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="multicard-fake-memory-")
        cls.addClassCleanup(shutil.rmtree, folder, True)
        cls.inputs = Inputs(folder)
        cls.output = Path(folder, "out")

    def train(self, deck, *overrides, ranks=1, **settings):
        shutil.rmtree(self.output, True)
        return run(ranks, "run", SOURCE / "inputs" / deck, "run.output=%s" % self.output, "run.device=cuda",
                   "run.epochs=null", "run.steps=3", "run.keep_checkpoints=0", "run.checkpoint_every=0",
                   "data.test=null", "evaluate={at_start: false, every_epochs: 0}", *overrides, **settings)

    def check(self, deck, *overrides, **settings):
        code, _, err = self.train(deck, *overrides, **settings)
        self.assertEqual(code, 0, err)
        memory = memory_of(self.output / "results.h5")
        peak, predicted = memory["device_peak_bytes"], memory["predicted"]
        print("      peak %6.0f MB, predicted %6.0f MB, %5.3f times as much" % (peak / 1e6, predicted / 1e6,
                                                                                predicted / peak))
        self.assertGreaterEqual(predicted, peak)
        self.assertLessEqual(predicted, MOST_OVER * peak)


class ImageMemory(MemoryTest):
    def test_prediction(self):
        for case in IMAGES:
            with self.subTest(case=case):
                model, size, batch, precision = case
                self.check("image/fashion_mnist.yaml", self.inputs.fashion(), "model={name: %s, classes: 10}" % model,
                           "data.image_size=%d" % size, "run.global_batch=%d" % batch, "precision=%s" % precision,
                           cudnn_workspace=WORKSPACE)

    def test_ranks_that_share_a_gpu_share_its_memory(self):
        overrides = [self.inputs.fashion(), "data.image_size=160", "run.global_batch=64", "parallel.share_gpu=true"]
        for devices, expected in ((2, 0), (1, 3)):
            code, _, err = self.train("image/fashion_mnist.yaml", *overrides, ranks=2, devices=devices, memory_mib=2000)
            self.assertEqual(code, expected, err)
        self.assertRegex(err, "would need .*run.micro_batch=")

    def test_the_refusal_names_a_micro_batch_that_fits(self):
        overrides = [self.inputs.fashion(), "data.image_size=160", "run.global_batch=128"]
        code, _, err = self.train("image/fashion_mnist.yaml", *overrides, memory_mib=2000, cudnn_workspace=WORKSPACE)
        self.assertEqual(code, 3, err)
        said = re.search(r"would need .*run\.micro_batch=(\d+)", err)
        self.assertTrue(said, err)
        fitting = int(said[1])
        self.assertGreater(fitting, 16)
        self.assertLess(fitting, 128)
        code, _, err = self.train("image/fashion_mnist.yaml", *overrides, "run.micro_batch=%d" % fitting,
                                  memory_mib=2000, cudnn_workspace=WORKSPACE)
        self.assertEqual(code, 0, err)


class TextMemory(MemoryTest):
    def test_prediction(self):
        for case in TEXTS:
            with self.subTest(case=case):
                shape, method, checkpointing, length, packed, batch, micro_batch, trained = case
                folder, config = (self.inputs.smollm2(), SMOLLM2) if shape == "135M" else self.inputs.llama8b()
                rows = self.inputs.rows(config, length, 64) if packed else self.inputs.ragged_rows(config, length, 96)
                self.check("llm/lora.yaml", rows, "model.path=%s" % folder, "model.random_weights=true",
                           "model.trainable_dtype=" + trained,
                           "model.activation_checkpointing=%s" % str(checkpointing).lower(), "method=" + method,
                           "data.packing=%s" % str(packed).lower(), "data.max_length=%d" % length,
                           "run.global_batch=%d" % batch, "run.micro_batch=%d" % micro_batch, memory_mib=200000)


if __name__ == "__main__":
    main()
