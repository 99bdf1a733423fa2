#!/usr/bin/env python3
"""Frozen weights, or the optimizer's state, of which each rank holds a part: numbers are those of runs that hold them
whole.

usage: sharding_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import hashlib
import json
import os
import re
import sys
import unittest
from pathlib import Path

from command_test import run
from tuning_case import SOURCE, TuningCase, deeper_model

METHODS = {"lora": "method={name: lora, rank: 4, dropout: 0.1}", "qlora": "method={name: qlora, rank: 4}",
           "lora-qat": "method={name: lora-qat, rank: 4, group_size: 32}"}
SHARD, SHARD_STATE = "parallel.shard=full", "parallel.shard=optimizer"


class DeepCase(TuningCase):
    """With a model of five blocks."""

    def setUp(self):
        super().setUp()
        self.model = self.path("deep")
        deeper_model(self.model, 5)
        self.write_deck()

    def change_state(self, checkpoint, change):
        """Lets `change` edit what trainer.json of a checkpoint holds."""
        file = Path(checkpoint, "trainer.json")
        content = json.loads(file.read_text())
        change(content)
        text = json.dumps(content)
        file.write_text(text)
        Path(checkpoint, "COMPLETE").write_text(hashlib.sha256(text.encode()).hexdigest() + "\n")

    def preference_pairs(self):
        """Overrides that name shards of pairs."""
        source = SOURCE / "inputs/text/instruction-data-with-preference.json"
        self.expect(0, run(2, "prepare", "text", "--type", "preference", "--tokenizer", self.model, "--in", str(source),
                           "--split", "0.1", "-o", self.path("pairs")))
        return ["data.%s=%s" % (name, self.path("pairs-%s*.h5" % name)) for name in ("train", "test")]


class Same:
    """Runs of a test case whose numbers must not depend on parallel.shard."""

    def run_both(self, ranks, shard, *overrides):
        for output, more in (("whole", ()), ("sharded", (shard,))):
            self.expect(0, run(ranks, "run", self.deck, *overrides, *more, "run.output=" + self.path(output)))

    def check_same(self, ranks, *overrides, shard=SHARD, metrics=("train_loss", "grad_norm", "eval_loss"),
                   files=("adapter_model", "optimizer"), step=8):
        """Losses of every step and evaluation, and what was trained, to the bit."""
        self.run_both(ranks, shard, *overrides)
        for metric in metrics:
            whole, sharded = (self.dataset(self.path(output + "/results.h5"), "/runs/main/metrics/" + metric)
                              for output in ("whole", "sharded"))
            self.assertEqual(whole, sharded, metric)
        for name in files:
            file = "checkpoints/step_%08d/%s.safetensors" % (step, name)
            whole, sharded = (Path(self.path(output), file).read_bytes() for output in ("whole", "sharded"))
            self.assertEqual(whole, sharded, name)

    def check_close(self, tolerance, metrics=("train_loss", "grad_norm", "eval_loss"), output="sharded"):
        """Of run_both(), or of another run and whole: relative differences."""
        for name in metrics:
            for whole, sharded in zip(self.metric(name, "whole"), self.metric(name, output), strict=True):
                self.assertAlmostEqual(whole, sharded, delta=tolerance * abs(whole), msg=name)

    def check_overflows(self, ranks, *shards, tolerance=0):
        """Updates are left out from a loss scale on that is much too large for float16, until it has halved often
        enough. Batches are of 4 rows and of one by turns: then the gradient of one rank alone overflows. `tolerance`:
        of losses; without it weights are equal, too."""
        words = (*FULL, "precision=fp16", "data.limit=5", "run.epochs=null")
        self.expect(0, run(ranks, "run", self.deck, *words, "run.steps=2", "run.output=" + self.path("start")))
        start = self.checkpoint("start", 2)
        self.change_state(start, lambda content: content["extra"].update(loss_scale=2.0**30))
        words += ("run.steps=14", "run.resume=" + start)
        for shard in shards:
            self.run_both(ranks, shard, *words)
            self.check_close(0, ("skipped", "loss_scale"))
            self.check_close(tolerance, ("train_loss",))
            weights = [Path(self.checkpoint(output, 14), "model.safetensors").read_bytes()
                       for output in ("whole", "sharded")]
            self.assertTrue(tolerance or weights[0] == weights[1])
        skipped = self.metric("skipped", "whole")[2:]
        self.assertGreater(min(skipped[:4]), 0, skipped)
        self.assertEqual(skipped[-1], 0, skipped)

    def check_until_levels_flip(self):
        """Of run_both() with QAT: the value of a group that is farthest from zero lies between two levels, so that the
        last bit of an update decides which it is; the first step knows nothing of that."""
        for name in ("train_loss", "grad_norm"):
            whole, sharded = (self.metric(name, output)[0] for output in ("whole", "sharded"))
            self.assertAlmostEqual(whole, sharded, delta=1e-12 * abs(whole), msg=name)
        self.check_close(2e-2, ("train_loss", "eval_loss"))


class Sharding(DeepCase, Same):
    def test_lora_has_the_same_numbers_on_2_ranks(self):
        self.check_same(2, METHODS["lora"])

    def test_qlora_with_checkpointed_blocks_has_the_same_numbers_on_3_ranks(self):
        self.check_same(3, METHODS["qlora"], "model.activation_checkpointing=true")

    def test_lora_of_fake_quantised_weights_has_the_same_numbers_on_4_ranks(self):
        self.check_same(4, METHODS["lora-qat"])

    def test_preference_pairs_have_the_same_numbers(self):
        pairs = [*self.preference_pairs(), "data.limit=40", "evaluate.limit=7", "run.global_batch=4",
                 "run.micro_batch=1"]
        for method in ("lora-dpo, rank: 4", "qlora-dpo, rank: 4, reference: cached"):
            self.check_same(3, "method={name: %s}" % method, *pairs, "run.resume=never")

    def test_the_largest_micro_batch_is_found_by_passes_of_all_ranks(self):
        # The test set has fewer rows than there are ranks.
        self.check_same(3, METHODS["lora"], "run.micro_batch=auto", "run.global_batch=6", "evaluate.limit=2")

    def test_fewer_rows_than_ranks(self):
        few = ("data.limit=2", "run.steps=2", "run.epochs=null", "evaluate.limit=1")
        self.check_same(3, METHODS["lora"], *few, step=2)

    def test_adapters_of_the_last_block_alone(self):
        self.check_same(3, "method={name: lora, rank: 4, targets: ['layers.1.mlp.up_proj']}", "run.global_batch=4",
                        "run.micro_batch=1")

    def test_a_rank_reads_its_part_of_the_files(self):
        said = run(2, "run", self.deck, SHARD, "run.steps=1", "run.resume=never")[2]
        megabytes = float(re.search(r"sharding +full over 2 ranks, .*; ([\d.]+) MB of files read by rank 0", said)[1])
        self.assertLess(1e6 * megabytes, 0.75 * os.path.getsize(self.model + "/model.safetensors"))
        # One rank holds all.
        self.assertNotIn("sharding", run(1, "run", self.deck, SHARD, "run.steps=1", "run.resume=never")[2])

    def test_ranks_without_rows_gather_for_the_others(self):
        # Batches of 4 rows on 3 ranks are of 2, 1 and 1 rows, computed one by one.
        # Their gradients are in several buckets, which are summed in one order with what is gathered.
        self.check_same(3, METHODS["lora"], "run.global_batch=4", "run.micro_batch=1", "evaluate.limit=4",
                        "parallel.bucket_mb=0.001", "run.timeout_s=10")

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

    def test_a_checkpoint_is_evaluated_and_answers_on_ranks_that_share_its_base(self):
        self.expect(0, run(2, "run", self.deck, SHARD))
        recorded = float(self.dataset(self.path("out/results.h5"), "/runs/main/metrics/eval_loss")[-1])
        asked = ("--greedy", "--max-new", "5", "--json", "Name a colour.")
        answers = set()
        for ranks in (1, 3):
            code, out, err = run(ranks, "eval", self.checkpoint(), "--json")
            self.assertEqual(code, 0, err)
            self.assertAlmostEqual(json.loads(out)["loss"], recorded, delta=1e-5)
            for words in ((self.checkpoint(),), (self.model, "--adapter", self.checkpoint())):
                for more in ((), ("--shard",)):
                    code, out, err = run(ranks, "generate", *words, *asked, *more)
                    self.assertEqual(code, 0, err)
                    answers.add(out)
        self.assertEqual(len(answers), 1, answers)
        self.expect(4, run(3, "generate", self.path("none"), "--shard", "x"), "none does not exist|none is neither")

    def test_gathers_are_counted(self):
        self.expect(0, run(2, "run", self.deck, SHARD))
        counted = "/runs/main/communication/all_gather/"
        calls, moved = (float(self.dataset(self.path("out/results.h5"), counted + name)[0])
                        for name in ("calls", "payload_bytes"))
        self.assertGreater(calls, 0)
        self.assertGreater(moved, 0)

    def test_what_cannot_be_sharded_is_refused(self):
        for words, why in ((("parallel.strategy=ddp",), "ddp"),
                           (("parallel.shard=auto", "parallel.strategy=ddp"), "ddp")):
            self.expect(2, run(2, "run", self.deck, SHARD, *words), why)


FULL = ("method={name: full}", "optimizer.clip_norm=null")
DOUBLE = ("precision=fp64", "model.dtype=fp64")


class ShardedState(DeepCase, Same):
    def check_state(self, ranks, *overrides, metrics=("train_loss", "eval_loss"), **settings):
        # The norm of the gradient is added over other parts.
        self.check_same(ranks, *overrides, shard=SHARD_STATE, metrics=metrics, files=("model", "optimizer"), **settings)

    def test_full_tuning_has_the_same_numbers(self):
        self.check_state(4, *FULL, *DOUBLE)

    def test_micro_batches_differ_by_rounding_alone(self):
        # Each is summed over the ranks by itself.
        self.run_both(3, SHARD_STATE, *FULL, *DOUBLE, "run.micro_batch=1")
        self.check_close(1e-12)

    def test_8_bit_moments_are_cut_at_their_blocks(self):
        self.check_state(3, *FULL, "optimizer.name=adamw8bit", "model.activation_checkpointing=true")

    def test_quantisation_aware_training_in_bf16_has_the_same_numbers(self):
        self.check_state(2, "method={name: qat, group_size: 32}", "optimizer.clip_norm=null", "precision=bf16",
                         "parallel.gradient_dtype=bf16")

    def test_adapters_have_the_same_numbers(self):
        self.check_same(2, METHODS["lora"], "optimizer.clip_norm=null", shard=SHARD_STATE,
                        metrics=("train_loss", "eval_loss"))

    def test_norms_that_are_clipped_differ_by_rounding_alone(self):
        self.run_both(3, SHARD_STATE, FULL[0], *DOUBLE, "optimizer.clip_norm=0.1")
        self.check_close(1e-12)

    def test_a_moving_average_has_the_same_numbers(self):
        self.check_state(2, *FULL, "run.ema_decay=0.9")

    def test_a_run_goes_on_in_the_other_mode_and_on_another_number_of_ranks(self):
        words = ("run", self.deck, *FULL, *DOUBLE)
        self.expect(0, run(3, *words, "run.output=" + self.path("whole")))
        self.expect(0, run(2, *words, SHARD_STATE, "run.steps=3"))
        self.expect(0, run(3, *words, "run.steps=5"))
        self.expect(0, run(3, *words, SHARD_STATE))
        self.check_close(1e-12, ("train_loss",), "out")

    def test_what_cannot_be_sharded_is_refused(self):
        for words, why in ((("parallel.strategy=dp",), "parallel.strategy is dp"),
                           (("parallel.bucket_mb=measured",), "measured"),
                           (("parallel.powersgd_rank=2",), "powersgd_rank")):
            self.expect(2, run(2, "run", self.deck, SHARD_STATE, *words), why)


class ShardedTraining(DeepCase, Same):
    """Weights that are trained, of which each rank holds and updates a part."""

    def check_trained(self, ranks, *overrides, metrics=("train_loss", "eval_loss"), **settings):
        # The norm of the gradient is added over other parts.
        self.check_same(ranks, *overrides, metrics=metrics, files=("model", "optimizer"), **settings)

    def test_full_tuning_has_the_same_numbers(self):
        self.check_trained(4, *FULL, *DOUBLE)
        exported = []
        for output in ("whole", "sharded"):
            self.expect(0, run(1, "export", self.checkpoint(output), self.path(output + "-hf")))
            exported.append(Path(self.path(output + "-hf/model.safetensors")).read_bytes())
        self.assertEqual(*exported)
        self.check_trained(3, *FULL, "optimizer.name=adamw8bit", "model.activation_checkpointing=true",
                           "run.resume=never")

    def test_quantisation_aware_training_in_bf16_has_the_same_numbers(self):
        self.check_trained(2, "method={name: qat, group_size: 32, fake_quant_step: 3}", "optimizer.clip_norm=null",
                           "precision=bf16", "parallel.gradient_dtype=bf16")

    def test_micro_batches_of_quantised_training_differ_by_rounding_alone(self):
        words = ("run.micro_batch=1", "optimizer.clip_norm=0.1", "run.resume=never")
        for shard, ranks in ((SHARD, 3), (SHARD_STATE, 2)):
            self.run_both(ranks, shard, "method={name: qat, group_size: 32}", *DOUBLE, *words)
            self.check_until_levels_flip()
            self.run_both(ranks, shard, FULL[0], "optimizer.name=adamw8bit", *words)
            self.check_close(1e-5)

    def test_weights_that_are_bf16_have_the_same_numbers(self):
        self.check_trained(3, *FULL, "precision=bf16", "model.trainable_dtype=bf16")

    def test_updates_are_left_out_on_all_ranks(self):
        self.check_overflows(2, SHARD, SHARD_STATE)

    def test_micro_batches_and_ranks_without_rows_add_up(self):
        # Batches of 4 rows on 3 ranks are of 2, 1 and 1 rows; each micro-batch is summed over the ranks by itself.
        self.run_both(3, SHARD, FULL[0], *DOUBLE, "optimizer.clip_norm=0.1", "run.micro_batch=1", "evaluate.limit=2",
                      "parallel.bucket_mb=0.01")
        self.check_close(1e-12)

    def test_the_largest_micro_batch_is_found_by_passes_of_all_ranks(self):
        self.check_trained(3, *FULL, "run.micro_batch=auto", "run.global_batch=6", "evaluate.limit=2")

    def test_a_second_model_is_split_too(self):
        # Of 4 pairs of a step and 7 of the test set ranks have different numbers.
        words = ["optimizer.clip_norm=null", "data.limit=12", "evaluate.limit=7", "run.epochs=null", "run.steps=4",
                 "run.micro_batch=1", "run.global_batch=4", "run.resume=never", *DOUBLE, *self.preference_pairs()]
        for method, shard in (("dpo", SHARD), ("dpo", SHARD_STATE), ("lora-dpo, rank: 4, reference: copy", SHARD)):
            self.run_both(3, shard, "method={name: %s}" % method, *words)
            self.check_close(1e-12)

    def test_preference_pairs_have_the_same_numbers_when_a_run_goes_on_too(self):
        words = ["method={name: dpo, reference: cached}", "optimizer.clip_norm=null", "data.limit=12",
                 "evaluate.limit=3", "run.epochs=null", "run.steps=6", *DOUBLE]
        words += self.preference_pairs()
        self.check_trained(2, *words, step=6)
        words.append("run.output=" + self.path("resumed"))
        # When it is resumed, the start is loaded once more, next to the network that has been trained.
        for ranks, steps in ((2, 4), (3, 6)):
            cached = list(Path(self.scratch).glob("*.ref-*.h5"))
            self.assertGreater(len(cached), 0)
            for file in cached:
                file.unlink()
            self.expect(0, run(ranks, "run", self.deck, *words, SHARD, "run.steps=%d" % steps),
                        r"reference .* pairs computed in")
        self.check_close(1e-12, ("train_loss",), "resumed")

    def test_a_run_goes_on_in_any_mode_and_on_another_number_of_ranks(self):
        words = ("run", self.deck, *FULL, *DOUBLE)
        self.expect(0, run(3, *words, "run.output=" + self.path("whole")))
        for ranks, steps, more in ((2, 2, (SHARD,)), (3, 3, ()), (3, 5, (SHARD,)), (2, 6, (SHARD_STATE,)),
                                   (3, 8, (SHARD,))):
            self.expect(0, run(ranks, *words, *more, "run.steps=%d" % steps))
        self.check_close(1e-12, ("train_loss",), "out")

    def test_answers_of_different_lengths_are_the_same(self):
        # Three ranks answer two prompts and one each.
        prompts = "evaluate={at_start: true, max_new: 7, prompts: ['Name a colour.', 'What now?', 'Why?', 'Who?']}"
        self.check_trained(3, *FULL, prompts, metrics=("train_loss",))
        asked = [self.text(self.path(output + "/results.h5"), "/runs/main/answers/after")
                 for output in ("whole", "sharded")]
        self.assertEqual(*[text.split("\n", 1)[1] for text in asked])

    def test_a_checkpoint_is_evaluated_and_answers(self):
        self.expect(0, run(2, "run", self.deck, *FULL, SHARD))
        recorded = self.metric("eval_loss")[-1]
        for ranks in (1, 3):
            code, out, err = run(ranks, "eval", self.checkpoint(), "--json")
            self.assertEqual(code, 0, err)
            self.assertAlmostEqual(json.loads(out)["loss"], recorded, delta=1e-5)
        answers = {run(2, "generate", self.checkpoint(), "--greedy", "--max-new", "5", *more, "Name a colour.")[1]
                   for more in ((), ("--shard",))}
        self.assertEqual(len(answers), 1, answers)

    def test_what_cannot_be_sharded_is_refused(self):
        for words, why in ((("run.ema_decay=0.9",), "average"), (("parallel.bucket_mb=measured",), "measured")):
            self.expect(2, run(2, "run", self.deck, *FULL, SHARD, *words), why)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
