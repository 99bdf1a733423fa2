#!/usr/bin/env python3
"""Model folders of Llama-3-70B's widths, all holes, whose weights are split: what each rank reads of them.

usage: load_test.py NAME   runs one test class; see fake_run.py. With MULTICARD_TEST_FULL=1 the model has all 80 layers,
                           141 GB in files that take no room on the disk, and is tuned on 8 ranks
"""

import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path

from decks import Inputs
from fake_run import main, run
from hole_model import BF16, bytes_of, tensors_of, write_holes

FULL = os.environ.get("MULTICARD_TEST_FULL") == "1"
LAYERS, RANKS = (80, 8) if FULL else (4, 4)
ADAPTERS = "rank: 16, alpha: 32, targets: all-linear"
METHODS = {"lora": "lora, " + ADAPTERS, "qlora": "qlora, " + ADAPTERS, "full": "full"}


class SlicedLoading(unittest.TestCase):
    def test_a_rank_reads_its_part(self):
        folder = tempfile.mkdtemp(prefix="multicard-fake-load-")
        self.addCleanup(shutil.rmtree, folder, True)
        inputs = Inputs(folder)
        config = {**inputs.shape("llama3_70b_shape")[1], "num_hidden_layers": LAYERS}
        model = inputs.made("model", lambda to: write_holes(to, config))
        ends, layers = map(bytes_of, tensors_of(config))
        largest = BF16 * config["hidden_size"] * config["intermediate_size"]
        for method, words in METHODS.items():
            with self.subTest(method=method):
                code, _, err = run(
                    RANKS, "run", Path(os.environ["MULTICARD_SOURCE"], "inputs/llm/lora.yaml"), "run.device=cuda",
                    inputs.rows(config, 64, 64), "data.test=null", "data.max_length=64", "model.path=%s" % model,
                    "model.activation_checkpointing=true", "method={name: %s}" % words, "parallel.shard=full",
                    "evaluate={at_start: false, every_epochs: 0, prompts: []}", "run.epochs=null", "run.steps=1",
                    "run.global_batch=%d" % RANKS, "run.keep_checkpoints=0", "run.checkpoint_every=0",
                    "run.resume=never", "run.output=%s/out" % folder, memory_mib=200_000, largest_copy_mib=1,
                    timeout=1800)
                self.assertEqual(code, 0, err)
                said = re.search(r"sharding +full over .*; ([\d.]+) (MB|GB) of files read by rank 0", err)
                read, unit = said.groups()
                read = float(read) * {"MB": 1e6, "GB": 1e9}[unit]
                whole, split = (0, ends + layers) if method == "full" else (ends, layers)
                # A matrix that is quantised is read by one rank, the next one by another.
                uneven = largest if method == "qlora" else 0
                print("      %s: %.2f of %.2f GB read" % (method, read / 1e9, (ends + layers) / 1e9))
                self.assertLessEqual(read, split / RANKS + whole + uneven + 0.01 * (ends + layers))
                self.assertGreaterEqual(read, 0.99 * (split / RANKS + whole) - uneven)


if __name__ == "__main__":
    main()
