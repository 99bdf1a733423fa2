#!/usr/bin/env python3
"""Checkpoints that ranks write together, each the parts of the model and of the optimizer's state that it holds; and
what they keep of a choice.

usage: sharded_files_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from checkpoint_test import KilledRuns, require_whole
from command_test import BIN, MULTICARD, launch, run
from hole_model import bytes_of, tensors_of, write_holes
from sharding_test import DeepCase, FULL, SHARD
from tuning_case import MODEL, TuningCase

FILES = ("model.safetensors", "optimizer.safetensors")


class ShardedFiles(DeepCase, KilledRuns):
    RANKS = 3

    def ranges(self):
        """Of the newest checkpoint, by file: what each rank has written, as bytes."""
        files = json.loads(Path(self.complete()[-1], "trainer.json").read_text())["files"]
        return {name: [sum(int(last) - int(first) + 1 for first, last in
                           (part.split("-") for part in text.split(","))) for text in files[name].get("ranges", ())]
                for name in FILES}

    def test_each_rank_writes_its_part(self):
        # With a moving average, each rank has the weights whole.
        state = "parallel.shard=optimizer"
        for words, split in (((SHARD,), FILES), ((state,), FILES), ((state, "run.ema_decay=0.5"), FILES[1:])):
            self.expect(0, run(3, "run", self.deck, *FULL, *words, "run.resume=never", "run.steps=4"))
            require_whole(self.complete()[-1])
            for name, counts in self.ranges().items():
                self.assertEqual(len(counts), 3 if name in split else 0, name)
                # Rank 0 also writes the embedding, which each rank has whole, under full.
                if counts:
                    self.assertLess(max(counts[1:]), 0.4 * sum(counts), name)
            copies = [float(count) for count in self.dataset(self.path("out/results.h5"),
                                                             "/runs/main/memory/model/checkpoint_copies")]
            self.assertEqual(len(copies), 3)
            self.assertGreater(min(copies), 0)
            self.assertLess(max(copies[1:]), 0.4 * sum(copies))

    def test_kills_cost_nothing(self):
        words = (*FULL, SHARD, "run.steps=150", "run.log_every=1000", "evaluate.every_steps=1000")
        self.expect(0, run(3, "run", self.deck, *words, "run.output=" + self.path("whole"), "run.checkpoint_every=0"))
        dice = random.Random(20261128)
        for _ in range(12 if os.environ.get("MULTICARD_TEST_FULL") == "1" else 3):
            self.life(("run", self.deck, *words, "run.checkpoint_every=1"), dice)
        self.assertLess(self.newest(), 150)
        self.expect(0, run(3, "run", self.deck, *words, "run.checkpoint_every=50"))
        for name in FILES:
            end = "checkpoints/step_00000150/" + name
            self.assertEqual(Path(self.path("out"), end).read_bytes(), Path(self.path("whole"), end).read_bytes(), name)
        self.require_no_leftovers()

    def test_a_rank_that_cannot_write_ends_no_run_but_by_the_last(self):
        # A limit on the length of files stands for the disk of another node: only the last rank cannot write.
        words = ("run", self.deck, *FULL, SHARD, "run.steps=6", "run.checkpoint_every=2")
        command = ["mpirun", "-n", "2", MULTICARD, *words, ":", "-n", "1", "sh", "-c",
                   "trap '' XFSZ; ulimit -f 8600; exec \"$@\"", "sh", MULTICARD, *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.expect(4, (done.returncode, done.stdout, done.stderr), r"safetensors cannot be written \(File too large\)")
        self.assertEqual(done.stderr.count("Earlier checkpoints are intact"), 2, done.stderr)
        self.assertEqual(self.complete(), [])
        self.assertEqual(list(Path(self.path("out/checkpoints")).glob(".step*")), [], "nothing is left half-written")

    def test_a_full_disk_ends_no_run_while_older_checkpoints_stay(self):
        self.small_disk("40m")
        words = (*FULL, SHARD, "run.output=" + self.path("small/out"))
        self.expect(0, run(3, "run", self.deck, *words, "run.steps=4"))
        filler = self.fill_disk()
        code, out, err = run(3, "run", self.deck, *words, "run.steps=6", "run.checkpoint_every=5")
        self.expect(4, (code, out, err), "step_00000005/?.*cannot|cannot grow")
        self.assertEqual(self.newest("small/out"), 4)
        require_whole(self.complete("small/out")[-1])
        os.remove(filler)
        self.expect(0, run(3, "run", self.deck, *words, "run.steps=6"), "resuming from .*step_00000004")

    def test_a_disk_slower_than_the_timeout_ends_no_run(self):
        slow = {**os.environ, "LD_PRELOAD": str(BIN.parent / "tests/libslow_disk.so"), "SLOW_DISK_S": "0.8",
                "SLOW_ALLOCATION_S": "2.5",
                "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
        process = launch(3, "run", self.deck, *FULL, SHARD, "run.timeout_s=2", "run.steps=2", env=slow)
        out, err = process.communicate(timeout=300)
        self.expect(0, (process.returncode, out, err))
        spent = [float(s) for s in self.dataset(self.path("out/results.h5"), "/runs/main/metrics/checkpoint_write_s")]
        self.assertGreater(min(spent), 2, "otherwise nothing was tried")


class HeldParts(TuningCase):
    """A frozen base of which each rank reads and holds its part, by what the system says of its memory."""

    RANKS, LAYERS = 4, 16

    def setUp(self):
        super().setUp()
        self.model = self.path("wide")
        config = json.loads(Path(MODEL, "config.json").read_text())
        self.config = {**config, "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": self.LAYERS}
        os.mkdir(self.model)
        write_holes(self.model, self.config)
        for file in ("tokenizer.json", "tokenizer_config.json"):
            shutil.copy(Path(MODEL, file), self.model)
        self.write_deck()

    def peaks(self, shard):
        """Of each rank, in bytes."""
        self.expect(0, run(self.RANKS, "run", self.deck, "method={name: lora, rank: 4}", "parallel.shard=" + shard,
                           "model.dtype=bf16", "run.output=" + self.path(shard), "run.steps=1", "run.global_batch=4",
                           "data.max_length=128", "run.keep_checkpoints=0", "run.checkpoint_every=0",
                           "evaluate={at_start: false, every_epochs: 0, prompts: []}", "data.test=null"))
        return [int(peak) for peak in self.dataset(self.path(shard + "/results.h5"),
                                                   "/runs/main/memory/host_peak_bytes")]

    def test_a_rank_holds_its_part_and_two_blocks(self):
        layers = bytes_of(tensors_of(self.config)[1])
        saved = layers - layers / self.RANKS - 2 * layers / self.LAYERS
        for whole, split in zip(self.peaks("none"), self.peaks("full"), strict=True):
            print("      peak %.0f MB, %.0f MB where weights are split" % (whole / 1e6, split / 1e6))
            self.assertLess(split, whole - 0.8 * saved)  # malloc keeps some of what loading has freed


class ChosenSharding(DeepCase):
    """parallel.shard=auto; which memory it is chosen for is tested on GPUs that are simulated."""

    def test_ranks_with_enough_memory_split_nothing(self):
        auto = ("parallel.shard=auto", *FULL)
        self.expect(0, run(2, "run", self.deck, *auto, "run.steps=4"), r"shard +none \(auto\): a rank has .* it takes")
        self.expect(0, run(2, "run", self.deck, *auto, "run.steps=6"), r"shard +none \(auto\): as before")
        self.expect(0, run(3, "run", self.deck, *auto, "run.steps=7"), r"shard +none \(auto\): a rank has")
        self.expect(0, run(2, "eval", self.checkpoint(step=7)))
        self.expect(0, run(1, "run", self.deck, *auto), r"shard +none \(auto\): one rank holds everything")
        self.assertIn("none (auto)", self.attribute(self.path("out/results.h5"), "/runs/main/chosen_shard"))

    def test_a_checkpoint_of_split_weights_is_evaluated_as_it_was_trained(self):
        self.expect(0, run(2, "run", self.deck, *FULL, SHARD))

        def as_if_chosen(content):
            content["text"]["chosen_shard"] = "full"
            content["extra"]["chosen_shard_ranks"] = 2
            content["deck"] = content["deck"].replace("shard: full", "shard: auto")
        self.change_state(self.checkpoint(), as_if_chosen)
        recorded = float(self.dataset(self.path("out/results.h5"), "/runs/main/metrics/eval_loss")[-1])
        code, out, err = run(2, "eval", self.checkpoint(), "--json")
        self.assertEqual(code, 0, err)
        self.assertAlmostEqual(json.loads(out)["loss"], recorded, delta=1e-5)
        auto = ("run", self.deck, *FULL, "parallel.shard=auto", "run.steps=9", "run.output=" + self.path("next"),
                "run.resume=" + self.checkpoint())
        self.expect(0, run(2, *auto), r"shard +full \(auto\): as before", "sharding +full over 2 ranks")
        # Where the deck does not allow it any more.
        self.expect(0, run(2, *auto, "parallel.bucket_mb=measured", "run.deterministic=false",
                           "run.output=" + self.path("other")),
                    r"shard +none \(auto\): a rank has")

    def test_warnings_of_data_and_model_are_not_lost(self):
        words = ("run", self.deck, "method={name: lora-dpo, rank: 4, dropout: 0.1}", *self.preference_pairs(),
                 "data.max_length=null", "--dry-run")
        for shard in ("none", "auto"):
            _, _, err = self.expect(0, run(2, *words, "parallel.shard=" + shard))
            self.assertEqual(err.count("method.dropout is not applied"), 1, err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
