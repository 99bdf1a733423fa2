#!/usr/bin/env python3
"""Copies of a model that groups of ranks share; and ranks that fail while others need their parts.

usage: sharded_groups_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import os
import signal
import sys
import unittest
from pathlib import Path

from command_test import launch, ranks_of, run, wait_for
from sharding_test import DOUBLE, DeepCase, FULL, METHODS, SHARD, Same


class ShardedGroups(DeepCase, Same):
    """Copies of the model that two ranks share each."""
    HYBRID = "parallel.shard=hybrid"
    PAIRS = "parallel={shard: hybrid, shard_group: 2}"

    def check_groups(self, *overrides, tolerance, ranks=4, **settings):
        self.run_both(ranks, self.PAIRS, *overrides)
        self.check_close(tolerance, **settings)

    def test_trained_weights_have_the_same_numbers(self):
        # Two sums of two instead of one of four; batches of 9 rows on three copies, computed one by one.
        self.check_groups(*FULL, *DOUBLE, tolerance=1e-12)
        self.check_groups(*FULL, "run.resume=never", tolerance=1e-5)
        self.check_groups(FULL[0], *DOUBLE, "optimizer.clip_norm=0.1", "run.global_batch=9", "run.micro_batch=1",
                          "run.resume=never", ranks=6, tolerance=1e-12)
        self.check_overflows(4, self.PAIRS, tolerance=1e-3)

    def test_the_largest_micro_batch_and_sums_in_16_bits(self):
        self.check_groups(*FULL, "precision=bf16", "parallel.gradient_dtype=bf16", "run.micro_batch=auto",
                          "evaluate.limit=3", tolerance=3e-3, metrics=("train_loss", "eval_loss"))

    def test_adapters_have_the_same_numbers(self):
        self.check_same(4, METHODS["qlora"], "run.micro_batch=1", "run.global_batch=6", shard=self.PAIRS)
        self.check_same(4, "method={name: lora-dpo, rank: 4}", *self.preference_pairs(), "run.micro_batch=1",
                        "run.global_batch=6", "evaluate.limit=3", "run.resume=never", shard=self.PAIRS)

    def test_quantised_training_differs_by_rounding_alone(self):
        words = ("optimizer.clip_norm=0.1", "run.resume=never")
        self.run_both(4, self.PAIRS, "method={name: qat, group_size: 32}", *DOUBLE, *words)
        self.check_until_levels_flip()
        self.check_groups(FULL[0], "optimizer.name=adamw8bit", *words, tolerance=1e-5)

    def test_ranks_of_one_node_are_one_group(self):
        self.check_same(2, *FULL, *DOUBLE, shard=self.HYBRID, metrics=("train_loss", "eval_loss"),
                        files=("model", "optimizer"))

    def test_a_run_goes_on_with_other_groups(self):
        words = ("run", self.deck, *FULL, *DOUBLE)
        self.expect(0, run(4, *words, "run.output=" + self.path("whole")))
        for ranks, steps, more in ((4, 3, self.PAIRS), (2, 5, SHARD), (4, 8, self.PAIRS)):
            self.expect(0, run(ranks, *words, more, "run.steps=%d" % steps))
        self.check_close(1e-12, ("train_loss",), "out")
        self.assertAlmostEqual(self.score(self.checkpoint()), self.metric("eval_loss")[-1], delta=1e-5)
        code, out, err = run(3, "eval", self.checkpoint(), "--json")
        self.assertEqual(code, 0, err)
        self.assertAlmostEqual(json.loads(out)["loss"], self.metric("eval_loss")[-1], delta=1e-5)

    def test_groups_that_are_impossible_are_refused(self):
        self.expect(3, run(3, "run", self.deck, self.PAIRS), "3 ranks cannot form groups of 2")
        self.expect(3, run(2, "run", self.deck, self.HYBRID, "parallel.shard_group=1"), "splits nothing")
        self.expect(2, run(2, "run", self.deck, "parallel.shard_group=2"), "shard_group.*no groups.*shard is none")
        self.expect(3, run(3, "run", self.deck, SHARD, "parallel.shard_group=2"), "groups of 2 .*splits over all ranks")
        self.expect(0, run(2, "run", self.deck, SHARD, "parallel.shard_group=2", "run.steps=1"), "full over 2 ranks")
        self.expect(2, run(2, "run", self.deck, self.HYBRID, "parallel.strategy=dp"), "parallel.strategy is dp")


class ShardedFailures(DeepCase):
    """Ranks that fail while others need their parts."""

    def start(self, *overrides):
        """A run of three ranks that has written a checkpoint."""
        process = launch(3, "run", self.deck, *FULL, SHARD, "run.steps=100000", *overrides, start_new_session=True)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: list(Path(self.path("out/checkpoints")).glob("step_*/COMPLETE")))
        return process

    def test_a_rank_that_stops_answering_is_5(self):
        process = self.start("run.timeout_s=2")
        os.kill(ranks_of(process)[1], signal.SIGSTOP)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 5, err)
        self.assertRegex(err, r"rank [02] on .*(all-gather|reduce-scatter|all-reduce) at step \d+ did not finish "
                              r"within 2 s|rank 1 did not answer for 4 s")

    def test_a_rank_that_is_killed_ends_the_job_and_its_checkpoint_goes_on(self):
        process = self.start()
        os.kill(ranks_of(process)[2], signal.SIGKILL)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 137)
        newest = max(Path(self.path("out/checkpoints")).glob("step_*/COMPLETE")).parent
        steps = int(newest.name[5:]) + 2
        _, _, err = self.expect(0, run(2, "run", self.deck, *FULL, SHARD, "run.steps=%d" % steps))
        self.assertIn("resum", err)

    def test_a_part_that_is_missing_or_damaged_is_named_by_all_ranks(self):
        self.expect(0, run(3, "run", self.deck, *FULL, SHARD))
        for name in ("model", "optimizer"):
            file = Path(self.checkpoint(), name + ".safetensors")
            whole = file.read_bytes()
            middle = len(whole) // 2
            file.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1:])
            code, _, err = run(3, "run", self.deck, *FULL, SHARD, "run.steps=9", "run.resume=" + self.checkpoint())
            self.assertEqual(code, 4, err)
            self.assertIn(name + ".safetensors", err)
            file.write_bytes(whole)
            file.unlink()
            self.expect(4, run(3, "run", self.deck, *FULL, SHARD, "run.steps=9", "run.resume=" + self.checkpoint()),
                        name + r"\.safetensors")
            file.write_bytes(whole)
        weights = Path(self.model, "model.safetensors")
        content = weights.read_bytes()
        weights.write_bytes(content[:len(content) // 2])
        code, _, err = run(3, "run", self.deck, *FULL, SHARD, "run.resume=never")
        self.assertEqual(code, 4, err)
        self.assertIn("model.safetensors", err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
