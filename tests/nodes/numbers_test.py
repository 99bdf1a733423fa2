#!/usr/bin/env python3
"""Two nodes compute what one does, and what leaves a node for a step is what its gradients need.

usage: numbers_test.py NAME   runs one test class; with MULTICARD_TEST_FULL=1 every combination of the axes
"""

import itertools
import json
import math
import os
import struct
from pathlib import Path

from nodes_case import MODEL, SOURCE, NodesTest, main
from tuning_case import deeper_model

FULL = bool(os.environ.get("MULTICARD_TEST_FULL"))
IMAGE = """\
task: image
model: {name: mobilenet_v2, width: 0.25, dropout: 0.0}
data: {train: "SCRATCH/train*.h5", image_size: 32}
optimizer: {name: sgd, learning_rate: 0.005, momentum: 0.9}
precision: fp64
run: {output: SCRATCH/out, steps: 3, global_batch: 48, seed: 3, checkpoint_every: 0, log_every: 1, deterministic: true}
"""
LANGUAGE = """\
task: llm
model: {path: MODEL, dtype: fp64}
method: {name: lora, rank: 4, alpha: 8}
data: {train: "SCRATCH/text-train*.h5", max_length: 160}
optimizer: {name: adamw, learning_rate: 0.002}
run: {output: SCRATCH/out, steps: 3, global_batch: 12, seed: 3, checkpoint_every: 0, log_every: 1, deterministic: true}
"""
SYNC = "parallel.sync_batch_norm=true"
BF16 = "parallel.gradient_dtype=bf16"
# BatchNorm of small batches multiplies a difference of weights by some 50 with each step. 16-bit sums are rounded to 8
# bits, on one node once and on two once for each.
TOLERANCE = {"fp64": 1e-12, "fp32": 1e-4, BF16: 1e-3}


def strategy(name):
    return "parallel.strategy=" + name


class NumbersTest(NodesTest):
    def setUp(self):
        super().setUp()
        self.prepare(train=96, test=24)
        Path(self.deck).write_text(IMAGE.replace("SCRATCH", self.scratch))
        records = json.loads((SOURCE / "inputs/text/instruction-data.json").read_text())[:60]
        self.copy_shards("text", {"text.json": json.dumps(records)}, 1, "text", "--type", "alpaca", "--tokenizer",
                         MODEL, "--in", "text.json", "--split", "0.2")
        self.language = self.path("language.yaml")
        Path(self.language).write_text(LANGUAGE.replace("SCRATCH", self.scratch).replace("MODEL", MODEL))

    def compare(self, counts, deck, *overrides, tolerance=None):
        """Losses of a run on two nodes and of one on as many ranks of one node; without a tolerance bit for bit."""
        number = sum(map(int, counts.split(",")))
        one, two = self.train(number, "one", *overrides, "run.resume=never", deck=deck), \
            self.train(counts, "two", *overrides, "run.resume=never", deck=deck)
        with self.subTest(counts=counts, overrides=overrides):
            self.assertEqual(len(two), len(one))
            self.assertGreater(len(one), 1)
            if tolerance is None:
                self.assertEqual(two, one)
                return
            for expected, found in zip(map(float, one), map(float, two)):
                self.assertLessEqual(abs(found / expected - 1), tolerance)


class Numbers(NumbersTest):
    def test_a_rank_a_node_computes_the_bits_of_one_node(self):
        for name in ("dp", "ddp", "ddp-ds"):
            self.compare("1,1", self.deck, strategy(name))
        self.compare("1,1", self.deck, "precision=fp32", SYNC)
        self.compare("1,1", self.language, strategy("ddp"))
        self.compare("1,1", self.language, "model.dtype=fp32", BF16)

    def test_several_ranks_a_node_differ_by_the_order_of_additions(self):
        for counts in ("2,2", "1,2"):
            self.compare(counts, self.deck, strategy("dp"), "precision=fp32", "run.steps=2",
                         tolerance=TOLERANCE["fp32"])
            self.compare(counts, self.deck, strategy("ddp"), SYNC, tolerance=TOLERANCE["fp64"])
            self.compare(counts, self.language, "model.dtype=fp32", BF16, tolerance=TOLERANCE[BF16])

    def test_all_combinations(self):
        if not FULL:
            self.skipTest("MULTICARD_TEST_FULL is not set")
        short = {"fp32": ("run.steps=2",), "fp64": ()}  # see TOLERANCE
        image = [(self.deck, (strategy(name), "precision=" + precision, *short[precision], *more), precision)
                 for name, precision in itertools.product(("dp", "ddp", "ddp-ds"), ("fp64", "fp32"))
                 for more in ((), (SYNC,), (BF16,)) if not (precision == "fp64" and BF16 in more)]
        language = [(self.language, (strategy(name), "model.dtype=" + precision, *more), precision)
                    for name, precision in itertools.product(("dp", "ddp", "ddp-ds"), ("fp64", "fp32"))
                    for more in ((), (BF16,)) if not (precision == "fp64" and more)]
        for (deck, overrides, precision), counts in itertools.product(image + language, ("1,1", "2,2", "1,2")):
            tolerance = TOLERANCE[BF16 if BF16 in overrides else precision] if counts != "1,1" else None
            self.compare(counts, deck, *overrides, tolerance=tolerance)


class BytesTest(NumbersTest):
    """What leaves each node, by the counters of its interface: the difference of runs of N and 2 N steps."""

    STEPS = 8

    def sent_for_a_step(self, counts, *overrides):
        sent = []
        for steps in (self.STEPS, 2 * self.STEPS):
            before = self.nodes.bytes_sent()
            done = self.nodes.run(counts, "run", self.deck, "run.steps=%d" % steps, "run.resume=never",
                                  "precision=fp32", *overrides)
            self.assertEqual(done[0], 0, done[2])
            sent.append([after - start for after, start in zip(self.nodes.bytes_sent(), before)])
        return [(twice - once) / self.STEPS for once, twice in zip(*sent)]

    def payload(self, steps):
        """Bytes of gradients that each rank reduced for a step, as the program counts them."""
        counted = self.dataset(self.path("out/results.h5"), "/runs/main/communication/all_reduce/payload_bytes")
        return int(counted[0]) / steps


class Bytes(BytesTest):
    # Start-up sends 2.6 MB, some runs 0.2 MB more, which is 1.2 % of the gradients in bf16 of this many steps.
    STEPS = 32

    def test_the_bytes_of_a_step_are_those_of_its_gradients_whatever_the_ranks_of_a_node(self):
        whole = None
        for counts, overrides, share in (("1,1", (), 1), ("2,2", (), 1), ("1,2", (BF16,), 0.5)):
            sent = self.sent_for_a_step(counts, *overrides)
            payload = self.payload(2 * self.STEPS)
            whole = whole or payload
            self.assertAlmostEqual(payload / whole, share, delta=0.01)
            for node in sent:  # 2 (N - 1) / N is 1 for 2 nodes
                self.assertAlmostEqual(node / payload, 1, delta=0.03, msg=(counts, sent, payload))


class BytesOfSharding(BytesTest):
    """A model of five blocks that four ranks of two nodes share: of a gather, and of a sum of which each rank gets a
    part, half leaves each node."""

    NUM_BLOCKS = 5

    def setUp(self):
        super().setUp()
        self.model = self.path("deep")
        deeper_model(self.model, self.NUM_BLOCKS)
        self.deck = self.path("deep.yaml")
        Path(self.deck).write_text(Path(self.language).read_text().replace(MODEL, self.model))

    def weights(self):
        """Bytes in float32 of the matrices of a block, and of all else."""
        size, = struct.unpack("<Q", Path(self.model, "model.safetensors").read_bytes()[:8])
        header = json.loads(Path(self.model, "model.safetensors").read_bytes()[8:8 + size])
        block = others = 0
        for name, tensor in header.items():
            count = 4 * math.prod(tensor["shape"])
            if ".layers.0." in name and len(tensor["shape"]) > 1:
                block += count
            elif ".layers." not in name or len(tensor["shape"]) == 1:
                others += count
        return block, others

    def check(self, gathered, summed, *overrides, shard="full"):
        """With sums that all ranks get (None: those that the program counts), which leave each node whole."""
        for node in self.sent_for_a_step("2,2", "parallel.shard=" + shard, "model.dtype=fp32", *overrides):
            expected = gathered / 2 + (self.payload(2 * self.STEPS) if summed is None else summed)
            self.assertAlmostEqual(node / expected, 1, delta=0.03, msg=(node, expected))

    def test_trained_blocks_are_gathered_twice_and_summed_once(self):
        block, others = self.weights()
        gathered, summed = (2 * self.NUM_BLOCKS - 2) * block + others, self.NUM_BLOCKS * block + others
        full = ("method={name: full}", "optimizer.clip_norm=null")
        self.check(gathered, summed / 2, *full)
        self.check(gathered, summed / 4, *full, BF16)

    def test_hybrid_gathers_within_a_node_and_sums_parts_between_them(self):
        block, others = self.weights()
        full = ("method={name: full}", "optimizer.clip_norm=null")
        self.check(others, self.NUM_BLOCKS * block + others / 2, *full, shard="hybrid")
        done = self.nodes.run("1,2", "run", self.deck, "parallel.shard=hybrid", "run.resume=never")
        self.assertEqual(done[0], 3, done[2])
        self.assertIn("needs equally many consecutive ranks", done[2])
        losses = {tuple(self.train("2,2", shard, *full, "precision=fp64", "parallel.shard=" + shard))
                  for shard in ("none", "hybrid", "full")}
        self.assertEqual(len(losses), 1, losses)

    def test_frozen_blocks_are_gathered_twice_but_for_those_in_place(self):
        self.check((2 * self.NUM_BLOCKS - 4) * self.weights()[0], None)


if __name__ == "__main__":
    main()
