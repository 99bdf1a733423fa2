#!/usr/bin/env python3
"""The memory of runs on CPUs, known beforehand: the prediction, the table of --dry-run, run.micro_batch=auto and
--what-fits. Standard library only.

usage: memory_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
AllPredictions takes SmolLM2-135M (scripts/get_model.sh) and minutes; ctest leaves it out.
"""

import json
import os
import re
import subprocess
import unittest
from pathlib import Path

from command_test import H5DUMP, CommandTest, run

SOURCE = Path(os.environ["MULTICARD_SOURCE"])
MODEL = SOURCE / "tests/data/models/tinystories-656K"
SMOLLM2 = SOURCE / "models/smollm2-135m-instruct"
METHODS = {"full": "", "lora": ", rank: 8, alpha: 16", "qlora": ", rank: 8, alpha: 16", "dpo": "",
           "lora-dpo": ", rank: 8, alpha: 16", "qlora-dpo": ", rank: 8, alpha: 16", "qat": ", group_size: 64",
           "lora-qat": ", rank: 8, alpha: 16, group_size: 64"}
DECK = """\
task: llm
model: {path: MODEL, dtype: bf16}
method: {name: lora, rank: 8, alpha: 16}
data: {train: "SCRATCH/text-*.h5", max_length: 512}
optimizer: {name: adamw, learning_rate: 0.0001, clip_norm: 1.0}
run: {output: SCRATCH/out, device: cpu, steps: 3, global_batch: 8, seed: 3, keep_checkpoints: 0}
"""
MOST_OVER = 1.08


class Memory(CommandTest):
    MODEL = MODEL

    def setUp(self):
        super().setUp()
        Path(self.deck).write_text(DECK.replace("SCRATCH", self.scratch).replace("MODEL", str(self.MODEL)))
        for name, kind, file in (("text", "alpaca", "instruction-data.json"),
                                 ("pairs", "preference", "instruction-data-with-preference.json")):
            records = json.loads((SOURCE / "inputs/text" / file).read_text())[:60]
            Path(self.path("records.json")).write_text(json.dumps(records))
            self.expect(0, run(1, "prepare", "text", "--type", kind, "--tokenizer", str(self.MODEL), "--in",
                               self.path("records.json"), "-o", self.path(name)))

    def method(self, name):
        overrides = ["method={name: %s%s}" % (name, METHODS[name])]
        return overrides + (["data.train=%s/pairs-*.h5" % self.scratch] if name.endswith("dpo") else [])

    def bytes_of(self, name, output="out"):
        """By rank."""
        place = "/runs/main/memory/" + name
        done = subprocess.run([H5DUMP, "-y", "-w", "0", "-d", place, self.path(output + "/results.h5")],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [int(x) for x in re.search(r"DATA \{(.*?)\}", done.stdout, re.S)[1].split(",")]

    def check(self, *overrides, ranks=1, timeout=120):
        self.expect(0, run(ranks, "run", self.deck, "run.resume=never", *overrides, timeout=timeout))
        for peak, predicted in zip(self.bytes_of("host_tensor_peak_bytes"), self.bytes_of("model/predicted_total")):
            print("      peak %8.2f MB, predicted %8.2f MB, %5.3f times as much: %s" %
                  (peak / 1e6, predicted / 1e6, predicted / peak, " ".join(map(os.path.basename, overrides))))
            self.assertGreaterEqual(predicted, peak)
            self.assertLessEqual(predicted, MOST_OVER * peak)


class Predictions(Memory):
    def test_every_method(self):
        for name in METHODS:
            with self.subTest(method=name):
                self.check(*self.method(name), "run.micro_batch=4")

    def test_ways_of_training(self):
        for overrides in (["model.activation_checkpointing=true", "data.packing=true", "run.micro_batch=4"],
                          ["model.trainable_dtype=bf16", "method={name: full}"],
                          ["method={name: lora, rank: 8, alpha: 16, modules_to_save: [embed_tokens, lm_head], "
                           "rank_pattern: {q_proj: 32}}", "run.micro_batch=4"],
                          ["optimizer={name: sgd, learning_rate: 0.01}", "method={name: full}"],
                          ["optimizer.name=adamw8bit", "method={name: full}"],
                          ["run.ema_decay=0.9", "method={name: full}", "run.keep_checkpoints=1"]):
            with self.subTest(overrides=overrides):
                self.check(*overrides)

    def test_ways_of_splitting(self):
        for shard, method in (("full", "lora"), ("full", "qlora"), ("full", "full"), ("optimizer", "full")):
            with self.subTest(shard=shard, method=method):
                self.check(*self.method(method), "parallel.shard=" + shard, "run.micro_batch=2", ranks=2)

    def test_answers(self):
        prompts = json.dumps(["Tell me of a cat and of %d dogs." % i for i in range(8)])
        for ranks in (1, 2):
            self.check("run.micro_batch=1", "evaluate={prompts: %s, max_new: 400}" % prompts, ranks=ranks)
            answers = self.bytes_of("model/answers")
            self.assertGreater(answers[0], 0)
            self.assertEqual(answers[1:], [0] * (ranks - 1), "rank 0 answers the first eight")

    def prepare_rows(self, name, length, *kind):
        """Shards of 12 rows of that many tokens, or of pairs of about such answers."""
        text = "word " * length
        record = {"input_ids": [7] * length, "labels": [7] * length, "instruction": "Repeat.", "chosen": text,
                  "rejected": text + "again"}
        Path(self.path("rows.json")).write_text(json.dumps([record] * 12))
        self.expect(0, run(1, "prepare", "text", "--type", *kind, "--in", self.path("rows.json"), "-o",
                           self.path(name)))

    def test_test_rows_that_are_longer_than_those_trained_on(self):
        for name, length in (("short", 16), ("long", 512)):
            self.prepare_rows(name, length, "tokens")
            self.prepare_rows(name + "-pairs", length, "preference", "--tokenizer", str(self.MODEL))
        for name, ranks, overrides in (("lora", 1, []), ("lora", 2, ["run.micro_batch=2"]), ("full", 1, []),
                                       ("qlora", 1, ["run.micro_batch=4"]), ("dpo", 1, []), ("lora-dpo", 1, [])):
            with self.subTest(method=name, ranks=ranks, overrides=overrides):
                files = "-pairs-0*.h5" if name.endswith("dpo") else "-0*.h5"
                data = ["data={train: %s, test: %s, max_length: 512}" % (self.path("short" + files),
                                                                         self.path("long" + files))]
                self.check(*self.method(name), *data, "evaluate.every_steps=2", *overrides, ranks=ranks)
                self.assertGreater(min(self.bytes_of("model/evaluation")), 0)
        self.expect(0, run(1, "run", self.deck, "--dry-run", *data, *self.method("lora-dpo")[:1]),
                    "evaluation of the test set, beyond a step +[0-9.]+ MB")
        _, _, err = self.expect(0, run(1, "run", self.deck, "--dry-run", *data, *self.method("lora-dpo")[:1],
                                       "evaluate.every_epochs=0"))
        self.assertNotIn("evaluation of the test set", err)

    def test_ranks(self):
        self.check(*self.method("full"), ranks=2)


class AllPredictions(Memory):
    MODEL = SMOLLM2

    def test_every_method(self):
        for name in METHODS:
            for micro_batch, checkpointing in ((4, "false"), (2, "true")):
                with self.subTest(method=name):
                    self.check(*self.method(name), "run.micro_batch=%d" % micro_batch, "run.steps=2",
                               "model.activation_checkpointing=" + checkpointing, timeout=600)


class Choices(Memory):
    def test_the_table_of_a_dry_run(self):
        parts = {"lora": ["base weights, frozen .bf16", "adapters, trained"], "full": ["weights, trained"],
                 "dpo": ["reference model, a frozen copy", "weights, trained"],
                 "qlora": [r"base weights, frozen .4 bits", "adapters, trained"]}
        for name, texts in parts.items():
            _, _, err = self.expect(0, run(2, "run", self.deck, "--dry-run", *self.method(name)), *texts,
                                    "gradients, which are the communication buckets", "optimizer state .adamw",
                                    "activations of 4 (rows|pairs) of [0-9,]+ tokens, without activation checkpointing",
                                    "logits of the targets", "in all +[0-9.]+ MB",
                                    "in all with model.activation_checkpointing=true +[0-9.]+ MB",
                                    "available to this rank: ")
            self.assertFalse(Path(self.path("out")).exists())
            total = float(re.search(r"in all +([0-9.]+) MB", err)[1])
            predicted = float(re.search(r"predicted ([0-9.]+) MB per rank", err)[1])
            self.assertAlmostEqual(total, predicted, delta=0.01 * predicted)

    def test_the_rows_that_fit_are_chosen(self):
        self.expect(0, run(2, "run", self.deck, "run.micro_batch=auto"),
                    "at once +4 of 4 rows per rank: all of them fit")
        self.assertRegex(self.attribute(self.path("out/results.h5"), "/runs/main/micro_batch"), r"\(0\): 4")
        self.assertRegex(self.attribute(self.path("out/results.h5"), "/runs/main/deck"), "micro_batch: auto")

    def test_a_resumed_run_may_choose_or_not(self):
        stored = ["run.keep_checkpoints=1"]
        self.expect(0, run(1, "run", self.deck, *stored, "run.micro_batch=auto"))
        self.expect(0, run(1, "run", self.deck, *stored, "run.micro_batch=2", "run.steps=5"), "resuming from")
        self.expect(0, run(1, "run", self.deck, *stored, "run.micro_batch=auto", "run.steps=6"), "resuming from",
                    "at once +8 of 8 rows")

    def test_what_fits(self):
        for ranks in (1, 2):
            _, out, err = self.expect(0, run(ranks, "run", self.deck, "--what-fits", "--memory", "60MB"))
            lines = [line.split() for line in err.splitlines() if re.match(r"  \S+ +(on|off) ", line)]
            if ranks > 1:
                splits = {}
                for line in lines:
                    splits.setdefault((line[0], line[1]), []).append(line.pop(2))
                for (method, _), found in splits.items():
                    self.assertEqual(found, ["none"] + ["optimizer"] * ("lora" not in method) + ["full"])
                lines = [line for line, split in zip(lines, sum(splits.values(), [])) if split == "none"]
            self.assertEqual([line[0] for line in lines[::2]], list(METHODS), err)
            self.assertFalse(Path(self.path("out")).exists())
        rows = {(line[0], line[1]): [int(x) if x != "-" else 0 for x in line[4:]] for line in lines}
        for checkpointing in ("on", "off"):
            for few, many in zip(rows["full", checkpointing], rows["lora", checkpointing]):
                self.assertLessEqual(few, many)
        self.assertEqual(sorted(rows["lora", "off"], reverse=True), rows["lora", "off"])
        self.assertGreater(rows["lora", "on"][-1], rows["lora", "off"][-1])
        self.assertRegex(err, r"  fits: run.micro_batch=\d+\n")

    def test_what_fits_is_what_is_predicted(self):
        _, _, err = self.expect(0, run(1, "run", self.deck, "--what-fits", "--memory", "60MB"))
        rows = int(re.search(r"  fits: run.micro_batch=(\d+)\n", err)[1])
        self.assertLess(rows, 1024)
        tokens = self.path("rows.jsonl")
        Path(tokens).write_text("".join(json.dumps({"input_ids": [7] * 512, "labels": [7] * 512}) + "\n"
                                        for _ in range(8)))
        self.expect(0, run(1, "prepare", "text", "--type", "tokens", "--in", tokens, "-o", self.path("rows")))
        for ranks, shard, method in ((1, "none", "lora"), (1, "full", "lora"), (2, "none", "lora"),
                                     (2, "full", "lora"), (2, "optimizer", "full"), (2, "full", "full")):
            words = ("parallel.shard=" + shard, "method={name: %s}" % method)
            _, _, err = self.expect(0, run(ranks, "run", self.deck, "--dry-run", "run.micro_batch=1",
                                           "data.train=%s/rows-*.h5" % self.scratch, *words))
            predicted = float(re.search(r"predicted ([0-9.]+) MB per rank", err)[1]) * 1e6
            one = self.what_fits(*words, ranks=ranks, shard=shard, method=method)
            print("      %d %s %s: %.3f" % (ranks, shard, method, one / predicted))
            self.assertLess(0.98 * predicted, one, "%d %s %s" % (ranks, shard, method))
            self.assertLess(one, 1.02 * predicted, "%d %s %s" % (ranks, shard, method))

    def what_fits(self, *overrides, ranks=1, method="lora", shard="none"):
        """Bytes of one row of the shortest length by a method, without checkpointing."""
        _, _, err = self.expect(0, run(ranks, "run", self.deck, "--what-fits", "--memory", "60MB", *overrides))
        kind = method + " +off" + (" +" + shard if ranks > 1 else "")
        number, unit = re.search(r"^  %s +([0-9.]+) (kB|MB)" % kind, err, re.M).groups()
        return float(number) * {"kB": 1e3, "MB": 1e6}[unit]

    def test_what_fits_knows_groups(self):
        """Of two ranks each of four, which hold what two ranks of two would."""
        groups = self.what_fits("parallel={shard: hybrid, shard_group: 2}", ranks=4, method="full", shard="hybrid")
        self.assertEqual(groups, self.what_fits(ranks=2, method="full", shard="full"))

    def test_what_fits_counts_batches_and_sums_in_16_bits(self):
        plain = self.what_fits()
        # 4 batches of tokens and targets, 512 rows more of 512 tokens.
        self.assertAlmostEqual(self.what_fits("run.global_batch=520") - plain, 4 * 2 * 512 * 512 * 8, delta=2e5)
        # Of 656,000 weights, in one bucket or in buckets of 250,000.
        full = self.what_fits(method="full")
        for bucket, numbers in (("8", 656e3), ("1", 250e3)):
            more = self.what_fits("parallel.gradient_dtype=bf16", "parallel.bucket_mb=" + bucket, method="full") - full
            self.assertAlmostEqual(more, 2 * numbers, delta=1.5e5)

    def test_what_fits_knows_moments_of_8_bits(self):
        wide, narrow = (self.what_fits("optimizer.name=" + name, method="full") for name in ("adamw", "adamw8bit"))
        # 8 bytes of each of 656,000 weights become 2, with two scales of 4 bytes for each 256.
        saved = wide - narrow
        once = 656e3 * (8 - 2 - 8 / 256)
        print("      saved %.2f MB, %.2f times once" % (saved / 1e6, saved / once))
        self.assertAlmostEqual(saved, once, delta=0.03 * once)

    def test_what_fits_knows_adapters_of_single_layers(self):
        plain = self.what_fits()
        wide = [self.what_fits(r"method.rank_pattern={'layers\.%d\..*': 64}" % layer) for layer in (0, 1)]
        self.assertEqual(wide[0], wide[1])
        # Weights, gradients and moments of 56 ranks more, of 7 layers with 2432 inputs and outputs together.
        weights = 56 * 2432 * 16
        self.assertGreater(wide[0] - plain, weights)
        # And what is multiplied by both matrices, with these in float32 where a CPU does not multiply bfloat16.
        self.assertLess(wide[0] - plain, 1.6 * weights + 56 * 2432 * 4)
        norm = self.what_fits("method.modules_to_save=[model.layers.1.input_layernorm]") - plain
        self.assertAlmostEqual(norm, 128 * 16, delta=5e3)  # as exact as what is printed
        self.expect(2, run(1, "run", self.deck, "--what-fits", "method.rank_pattern={q_prj: 4}"), "matches no layer")

    def test_changes_keep_what_the_method_is(self):
        _, _, err = self.expect(0, run(1, "run", self.deck, "--what-fits", "--memory", "60MB"))
        self.assertIn(" method.name=qlora", err)
        _, _, err = self.expect(0, run(1, "run", self.deck, "--what-fits", "--memory", "60MB", *self.method("full")))
        self.assertIn(' "method={name: lora}"', err)

    def test_wrong_words(self):
        self.expect(2, run(1, "run", self.deck, "--what-fits", "--dry-run"), "dry-run")
        self.expect(2, run(1, "run", self.deck, "--what-fits", "--memory", "lots"), "--memory is lots", "80GB")
        for words in (["--memory", ""], ["--memory", " "]):
            self.expect(2, run(1, "run", self.deck, "--what-fits", *words),
                        r"--memory is empty \(it must be a number of bytes, with a unit or without\) Write 80GB")
        self.expect(2, run(1, "run", self.deck, "--what-fits", "--memory="), "--memory: 1 required")
        self.expect(2, run(1, "run", self.deck, "--memory", "80GB"), "what-fits")
        self.expect(2, run(1, "run", self.deck, "run.micro_batch=some"), "micro_batch")


if __name__ == "__main__":
    unittest.main(verbosity=2)
