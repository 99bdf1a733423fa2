#!/usr/bin/env python3
"""What a step with split weights asks of NCCL, in which order: number and bytes of all collectives, and the matrix
products between them, on every rank.

usage: order_test.py NAME   runs one test class; see fake_run.py
"""

import dataclasses
import json
from pathlib import Path

from fake_run import Counts, FakeGpuTest, main
from tuning_case import deeper_model

NUM_BLOCKS = 5
HIDDEN, KEYS, INNER, VOCABULARY = 128, 64, 384, 2048  # of the model
MATRICES = [(HIDDEN, HIDDEN), (KEYS, HIDDEN), (KEYS, HIDDEN), (HIDDEN, HIDDEN),
            (INNER, HIDDEN), (INNER, HIDDEN), (HIDDEN, INNER)]
BLOCK = sum(rows * columns for rows, columns in MATRICES)
LORA_RANK = 4
ADAPTERS = NUM_BLOCKS * sum(LORA_RANK * (rows + columns) for rows, columns in MATRICES)
NUM_NORMS = 2 * NUM_BLOCKS + 1
ALIGNMENT = 256  # elements at whose multiples parameters and parts begin
NORM, STATUS = "ncclAllReduce 16", "ncclAllReduce 48"  # of gradients, with whether one is not finite; of the step


@dataclasses.dataclass
class Products:
    """Matrix products: of a block, of the first one, whose input may need no gradient, and of the output layer."""

    forward: int
    backward: int
    first_backward: int
    output: int


FULL = Products(forward=4, backward=8, first_backward=8, output=3)
LORA = Products(forward=15, backward=26, first_backward=24, output=2)


def merged(words):
    """Numbers that follow each other are added."""
    found = []
    for word in words:
        if isinstance(word, int) and found and isinstance(found[-1], int):
            found[-1] += word
        else:
            found.append(word)
    return found


def micro_batch(products, part, sums, keeps, ends=(), are_tied=True, stays=False):
    """Its collectives, and how many matrix products are between them. `part`: bytes that a rank has of a block; `sums`:
    the words for the sum of a block's gradients, by row; `keeps`: what the pass begins with is in place; `ends`: where
    embedding and output layer are split, the words for gathering one of them and for the sum of its gradient; `stays`:
    what is gathered stays until it is updated."""
    words = []

    def gather(block):
        words.append("gather of block %d: %d" % (block, part))
    if ends and not (keeps and are_tied):
        words.append(ends[0])
    for block in range(NUM_BLOCKS):
        if block == 0 and not keeps:
            gather(0)
        if block + 1 < NUM_BLOCKS and (block + 1 >= 2 and not stays or not keeps):
            gather(block + 1)  # before the block computes
        if ends and block + 1 == NUM_BLOCKS and not are_tied:
            words.append(ends[0])
        words.append(products.forward)
    words.append(products.output)
    if ends and not are_tied:
        words.append(ends[1])
    for block in reversed(range(NUM_BLOCKS)):
        if 0 <= block - 1 < NUM_BLOCKS - 2 and not stays:
            gather(block - 1)  # before the block computes, and so before the sum of its gradients
        words.append(products.backward if block > 0 else products.first_backward)
        if sums:
            words.append(sums[(NUM_BLOCKS - 1 - block) % len(sums)])
    return words + list(ends[1:])


class Observed:
    """The words of one step of a rank, from the logs when it began and when it had ended."""

    def __init__(self, before, after, part):
        # All blocks are gathered in order when the memory of a step is measured.
        self.blocks, self.rows = ([], [])
        for what, size, source in after.order:
            known = self.blocks if what == "ncclAllGather" else self.rows
            if size == part and what in ("ncclAllGather", "ncclReduceScatter") and source not in known:
                known.append(source)
        self.words = merged(map(self.word, after.order[len(before.order):]))

    def word(self, entry):
        what, size, source = entry
        if what == "gemm":
            return 1
        if what == "ncclAllGather" and source in self.blocks:
            return "gather of block %d: %d" % (self.blocks.index(source), size)
        if what == "ncclReduceScatter" and source in self.rows:
            return "sum of row %d: %d" % (self.rows.index(source), size)
        return "%s %d" % (what, size)

    def number(self, beginning):
        return sum(str(word).startswith(beginning) for word in self.words)


class Order(FakeGpuTest):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.model = self.path("deep")
        deeper_model(self.model, NUM_BLOCKS)

    def observed(self, ranks, part, *overrides):
        """The sixth step of each rank."""
        self.counts(ranks, "run", self.language, "model.path=" + self.model, "parallel.shard=full", "run.steps=7",
                    "run.keep_checkpoints=0", *overrides, log_at="5,6", order=True,
                    is_async=True)
        found = []
        for rank in range(ranks):
            before, after = (Counts.of(self.path("counts.%d.%d" % (rank, step)), rank) for step in (5, 6))
            found.append(Observed(before, after, part))
        return found

    def check(self, expected, found, gathers):
        for rank, one in enumerate(found):
            with self.subTest(rank=rank):
                self.assertEqual("\n".join(map(str, merged(expected))), "\n".join(map(str, one.words)))
                self.assertEqual(gathers, one.number("gather of block"))

    @staticmethod
    def ends(ranks, sum_word="ncclReduceScatter %d", width=4):
        """The words for micro_batch()."""
        part = VOCABULARY * HIDDEN // ranks
        return ["ncclAllGather %d" % (4 * part), sum_word % (width * part)]

    @staticmethod
    def norms(ranks, sum_word="ncclReduceScatter %d", width=4):
        """What follows backward where all weights are trained."""
        unit = ALIGNMENT * ranks
        part = (NUM_NORMS * ALIGNMENT + unit - 1) // unit * ALIGNMENT
        values = 4 * part * HIDDEN // ALIGNMENT  # without the gaps
        return [sum_word % (width * part), NORM, STATUS, "ncclAllGather %d" % values]

    def test_trained_weights(self):
        for ranks in (2, 4):
            part = 4 * BLOCK // ranks
            sums = ["sum of row 0: %d" % part, "sum of row 1: %d" % part]
            found = self.observed(ranks, part, "method={name: full}")
            self.check(micro_batch(FULL, part, sums, keeps=False, ends=self.ends(ranks)) + self.norms(ranks), found,
                       2 * NUM_BLOCKS - 2)
            self.assertEqual(NUM_BLOCKS, found[0].number("sum of row"))

    def test_trained_weights_with_two_micro_batches(self):
        part = 4 * BLOCK // 2
        sums, ends = ["sum of row 0: %d" % part, "sum of row 1: %d" % part], self.ends(2)
        found = self.observed(2, part, "method={name: full}", "run.micro_batch=1")
        self.check(micro_batch(FULL, part, sums, False, ends) + micro_batch(FULL, part, sums, True, ends) +
                   self.norms(2), found, 4 * NUM_BLOCKS - 6)

    def test_embedding_and_output_layer_of_their_own(self):
        part = 4 * BLOCK // 2
        config = json.loads(Path(self.model, "config.json").read_text())
        Path(self.model, "config.json").write_text(json.dumps({**config, "tie_word_embeddings": False}))
        sums, ends = ["sum of row 0: %d" % part, "sum of row 1: %d" % part], self.ends(2)
        found = self.observed(2, part, "method={name: full}", "model.random_weights=true", "run.micro_batch=1")
        self.check(micro_batch(FULL, part, sums, False, ends, are_tied=False) +
                   micro_batch(FULL, part, sums, True, ends, are_tied=False) + self.norms(2), found,
                   4 * NUM_BLOCKS - 6)

    def test_trained_weights_with_gradients_in_16_bits(self):
        """Which ranks send each other, the whole of what they sum."""
        part, sum_word, width = 4 * BLOCK // 2, "send and receive groups %d", 2 * 2  # 2 parts of half the width
        found = self.observed(2, part, "method={name: full}", "parallel.gradient_dtype=bf16")
        self.check(micro_batch(FULL, part, [sum_word % (2 * BLOCK)], False, self.ends(2, sum_word, width)) +
                   self.norms(2, sum_word, width), found, 2 * NUM_BLOCKS - 2)

    def test_weights_that_stay_until_they_are_updated(self):
        part = 4 * BLOCK // 2
        sums, ends = ["sum of row 0: %d" % part, "sum of row 1: %d" % part], self.ends(2)
        found = self.observed(2, part, "method={name: full}", "parallel.shard=optimizer", "run.micro_batch=1")
        self.check(micro_batch(FULL, part, sums, False, ends, stays=True) +
                   micro_batch(FULL, part, sums, True, ends, stays=True) + self.norms(2), found, NUM_BLOCKS)

    def test_groups(self):
        part = 4 * BLOCK // 2
        sums, ends = ["sum of row 0: %d" % part, "sum of row 1: %d" % part], self.ends(2)
        found = self.observed(4, part, "method={name: full}", "parallel={shard: hybrid, shard_group: 2}")
        over_copies = ["ncclAllReduce %d" % (4 * VOCABULARY * HIDDEN // 2)] + NUM_BLOCKS * ["ncclAllReduce %d" % part]
        self.check(micro_batch(FULL, part, sums, False, ends) + over_copies + self.norms(4), found, 2 * NUM_BLOCKS - 2)

    def test_a_packed_base(self):
        part = 57344  # half of a block's NF4 values and scales, which begin at multiples of 1 KiB
        self.assertLess(part, 1.2 * 0.516 * BLOCK / 2)
        found = self.observed(2, part, "method={name: qlora, rank: 4, targets: all-linear}")
        self.check([*micro_batch(LORA, part, [], keeps=True), "ncclAllReduce %d" % (4 * ADAPTERS), STATUS], found,
                   2 * NUM_BLOCKS - 4)

    def test_a_frozen_base(self):
        for ranks, dtype, width in ((2, "fp32", 4), (2, "bf16", 2), (4, "bf16", 2)):
            part = width * BLOCK // ranks
            found = self.observed(ranks, part, "model.dtype=" + dtype)
            self.check([*micro_batch(LORA, part, [], keeps=True), "ncclAllReduce %d" % (4 * ADAPTERS), STATUS], found,
                       2 * NUM_BLOCKS - 4)


if __name__ == "__main__":
    main()
