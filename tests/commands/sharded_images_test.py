#!/usr/bin/env python3
"""Image classifiers of which each rank holds and updates a part: numbers are those of runs that hold them whole.

usage: sharded_images_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import sys
import unittest
from pathlib import Path

from command_test import CommandTest, run
from sharding_test import DOUBLE, SHARD, SHARD_STATE, Same

PAIRS = "parallel={shard: hybrid, shard_group: 2}"
DOUBLE = DOUBLE[0]
ADAMW = "optimizer={name: adamw, learning_rate: 0.001}"


class ShardedImages(CommandTest, Same):
    def setUp(self):
        super().setUp()
        self.prepare()

    def check_bits(self, ranks, shards, *overrides, metrics=("train_loss", "eval_loss", "eval_accuracy")):
        """Each of `shards` against a run that splits nothing; returns what the last one says. The norm of gradients is
        added over other parts."""
        def ended(output, *more):
            _, _, said = self.expect(0, run(ranks, "run", self.deck, *overrides, *more, "run.resume=never",
                                            "run.timeout_s=30", "run.output=" + self.path(output)))
            files = [Path(self.path(output), "checkpoints/step_00000004/%s.safetensors" % name).read_bytes()
                     for name in ("model", "optimizer")]
            return [self.dataset(self.path(output + "/results.h5"), "/runs/main/metrics/" + name)
                    for name in metrics], files, said
        whole = ended("whole")
        for shard in shards:
            with self.subTest(shard=shard, words=overrides):
                numbers, files, said = ended("sharded", shard)
                self.assertEqual(numbers, whole[0])
                self.assertTrue(files == whole[1], "the files differ")
        return said

    def check_score(self, output, step):
        """A checkpoint against what its run has recorded."""
        code, out, err = run(3, "eval", self.path("%s/checkpoints/step_%08d" % (output, step)), "--json")
        self.assertEqual(code, 0, err)
        self.assertAlmostEqual(json.loads(out)["loss"], self.metric("eval_loss", output)[-1], delta=1e-6)

    def of_model(self, name, output):
        """Predicted bytes of a rank."""
        return float(self.dataset(self.path(output + "/results.h5"), "/runs/main/memory/model/" + name)[0])

    def test_numbers_are_the_same(self):
        both = (SHARD_STATE, SHARD)
        self.check_bits(3, both, ADAMW, "model.dropout=0.2")
        self.check_bits(2, both, DOUBLE, "parallel.sync_batch_norm=true", "data.layout=nchw", "parallel.bucket_mb=0.1")

    def test_networks_of_other_blocks_have_the_same_numbers(self):
        few = ("data.limit=32", "run.epochs=2")
        self.check_bits(3, (SHARD,), "model={name: efficientnet_b0, width: 1}", ADAMW, *few)
        said = self.check_bits(2, (SHARD,), "model={name: resnet18, width: 1, dropout: null}", *few, "precision=bf16",
                               "parallel.gradient_dtype=bf16")
        self.assertIn("sharding  full over 2 ranks", said)
        for name, most in (("parameters", 0.95), ("gradients", 0.95), ("optimizer", 0.55)):
            whole, sharded = (self.of_model(name, output) for output in ("whole", "sharded"))
            self.assertLess(sharded, most * whole, name)

    def test_what_is_frozen_stays_whole(self):
        # Nothing below the first block that is trained has a gradient; in one block some convolutions are frozen.
        self.check_bits(3, (SHARD,), "model.freeze=['features.?.*', 'features.12.conv.0.0.weight']")
        # Nothing is left that ranks hold whole.
        self.check_bits(2, (SHARD,), "model={name: resnet18, width: 1, dropout: null, "
                        "freeze: ['conv1.*', '*bn*', '*downsample.1*', 'fc.*']}", "data.limit=32", "run.epochs=2")
        self.expect(2, run(2, "run", self.deck, SHARD, "model.freeze=['features.*']"), "leaves no convolution")

    def test_micro_batches_and_ranks_without_rows_add_up(self):
        # The last batch has 2 rows, and the test set fewer than there are ranks. Two steps: batch norm of few values
        # makes a difference in the last bit a hundred times larger in each.
        words = (DOUBLE, "data.limit=18", "run.micro_batch=3", "evaluate.limit=2", "optimizer.clip_norm=0.5",
                 "data.image_size=64", "run.resume=never", "run.timeout_s=30")
        for synchronises in ("false", "true"):
            self.run_both(3, SHARD, *words, "parallel.sync_batch_norm=" + synchronises)
            self.check_close(1e-11)

    def test_the_largest_micro_batch_is_found_and_updates_are_left_out_by_all_ranks(self):
        # The first scale of losses is too large for float16.
        self.check_bits(3, (SHARD,), "run.micro_batch=auto", "evaluate.limit=2", "precision=fp16",
                        "optimizer.learning_rate=0.1", metrics=("train_loss", "eval_loss", "skipped", "loss_scale"))

    def test_groups_have_the_same_numbers(self):
        self.run_both(4, PAIRS, DOUBLE, "run.epochs=null", "run.steps=2", "run.timeout_s=30")
        self.check_close(1e-12, metrics=("train_loss", "grad_norm"))
        self.check_score("sharded", step=2)

    def test_a_run_goes_on_in_any_mode_and_on_another_number_of_ranks(self):
        # Of images in NHWC, the layout here, rank 0 gathers what the ranks have.
        words = ("run", self.deck, DOUBLE, ADAMW, "parallel.sync_batch_norm=true", "run.epochs=null")
        self.expect(0, run(3, *words, "run.steps=8", "run.output=" + self.path("whole")))
        for ranks, steps, more in ((2, 2, (SHARD,)), (3, 4, ()), (3, 8, (SHARD,))):
            self.expect(0, run(ranks, *words, *more, "run.steps=%d" % steps))
        self.check_close(1e-11, ("train_loss",), "out")
        self.check_score("out", step=8)

    def test_what_cannot_be_sharded_is_refused(self):
        for words, why in ((("parallel.strategy=dp",), "parallel.strategy is dp"),
                           (("optimizer.name=adamw8bit",), "adamw8bit"),
                           (("run.ema_decay=0.9",), "average of all weights"),
                           (("parallel.bucket_mb=measured",), "measured"),
                           ((PAIRS, "parallel.sync_batch_norm=true"), "sums over all ranks while groups")):
            self.expect(2, run(2, "run", self.deck, SHARD, *words), why)
        self.expect(2, run(2, "run", self.deck, SHARD_STATE, "optimizer.name=adamw8bit"), "adamw8bit")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
