#!/usr/bin/env python3
"""Frozen weights of which each rank holds a part: numbers are those of runs that hold them whole.

usage: sharding_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import sys
import unittest
from pathlib import Path

from command_test import run
from tuning_case import TuningCase

METHODS = {"lora": "method={name: lora, rank: 4, dropout: 0.1}", "qlora": "method={name: qlora, rank: 4}"}
SHARD = "parallel.shard=full"


class Sharding(TuningCase):
    def check_same(self, ranks, *overrides, metrics=("train_loss", "grad_norm", "eval_loss")):
        """Losses of every step and evaluation, and what was trained, to the bit."""
        for output, more in (("whole", ()), ("sharded", (SHARD,))):
            self.expect(0, run(ranks, "run", self.deck, *overrides, *more, "run.output=" + self.path(output)))
        for metric in metrics:
            whole, sharded = (self.dataset(self.path(output + "/results.h5"), "/runs/main/metrics/" + metric)
                              for output in ("whole", "sharded"))
            self.assertEqual(whole, sharded, metric)
        for name in ("adapter_model.safetensors", "optimizer.safetensors"):
            whole, sharded = (Path(self.checkpoint(output), name).read_bytes() for output in ("whole", "sharded"))
            self.assertEqual(whole, sharded, name)

    def test_lora_has_the_same_numbers_on_2_ranks(self):
        self.check_same(2, METHODS["lora"])

    def test_qlora_with_checkpointed_blocks_has_the_same_numbers_on_3_ranks(self):
        self.check_same(3, METHODS["qlora"], "model.activation_checkpointing=true")

    def test_ranks_without_rows_gather_for_the_others(self):
        # Batches of 4 rows on 3 ranks are of 2, 1 and 1 rows, computed one by one.
        self.check_same(3, METHODS["lora"], "run.global_batch=4", "run.micro_batch=1", "evaluate.limit=4")

    def test_answers_of_different_lengths_are_the_same(self):
        prompts = "evaluate={at_start: true, max_new: 7, prompts: ['Name a colour.', 'What now?', 'Why?']}"
        self.check_same(2, METHODS["lora"], prompts, metrics=("train_loss",))
        asked = [self.text(self.path(output + "/results.h5"), "/runs/main/answers/after")
                 for output in ("whole", "sharded")]
        self.assertEqual(*[text.split("\n", 1)[1] for text in asked])

    def test_a_run_goes_on_in_the_other_mode(self):
        self.expect(0, run(2, "run", self.deck, "run.output=" + self.path("whole")))
        self.expect(0, run(2, "run", self.deck, SHARD, "run.steps=4"))
        self.expect(0, run(2, "run", self.deck))
        self.assertEqual(self.losses(), self.losses("whole"))

    def test_gathers_are_counted(self):
        self.expect(0, run(2, "run", self.deck, SHARD))
        counted = "/runs/main/communication/all_gather/"
        calls, moved = (float(self.dataset(self.path("out/results.h5"), counted + name)[0])
                        for name in ("calls", "payload_bytes"))
        self.assertGreater(calls, 0)
        self.assertGreater(moved, 0)

    def test_what_cannot_be_sharded_is_refused(self):
        for words, why in ((("method={name: full}",), "trains all weights"), (("parallel.strategy=ddp",), "ddp"),
                           (("run.micro_batch=auto",), "micro_batch"), (("parallel.shard=optimizer",), "optimizer")):
            self.expect(2, run(2, "run", self.deck, SHARD, *words), why)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
