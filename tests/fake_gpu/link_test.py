#!/usr/bin/env python3
"""A step with split weights sends the bytes that docs/sharding.md says, and bench/sharding_links.sh plays it right.

usage: link_test.py NAME   runs one test class; see fake_run.py
"""

import shutil
import tempfile
import unittest

from decks import SMOLLM2, Inputs
from fake_run import main
from link_counts import CASES, FLOPS, Model, Sent, break_even, count, exposed_seconds

MODEL = Model.of(SMOLLM2)
BLOCKS, ENDS, L = MODEL.num_blocks * MODEL.block, MODEL.ends, MODEL.num_blocks
BASE, NF4 = 2, 0.516  # bytes of a frozen weight
AFTER_UPDATE, KEPT = (2 * L - 2) / L, (2 * L - 4) / L  # how often blocks are gathered
NORMS = 2 * L + 1  # whole on each rank, of 576 weights that take 768 in a bucket
NORM_VALUES, NORM_ROW = NORMS * 576, NORMS * 768
# Gathers of blocks, sums that overlap, embedding and output layer (which are one) where they are split, and the rest
# without adapters.
DOCUMENTED = {
    "full tuning, none": (0, 8 * MODEL.weights, 0, 0),
    "full tuning, optimizer": (2 * BLOCKS, 4 * BLOCKS, 6 * ENDS, 4 * NORM_VALUES + 4 * NORM_ROW),
    "full tuning, full": (2 * BLOCKS * AFTER_UPDATE, 4 * BLOCKS, 6 * ENDS, 4 * NORM_VALUES + 4 * NORM_ROW),
    "full tuning, full, bf16 gradients": (2 * BLOCKS * AFTER_UPDATE, 2 * BLOCKS, 4 * ENDS,
                                          4 * NORM_VALUES + 2 * NORM_ROW),
    "LoRA, full": (BASE * BLOCKS * KEPT, 0, 0, None),
    "QLoRA, full": (NF4 * BLOCKS * KEPT, 0, 0, None),
}


class Links(unittest.TestCase):
    def test_bytes_are_those_of_the_documents(self):
        folder = tempfile.mkdtemp(prefix="multicard-fake-links-")
        self.addCleanup(shutil.rmtree, folder, True)
        inputs = Inputs(folder)
        self.assertEqual(list(CASES), list(DOCUMENTED))
        for name, case in CASES.items():
            with self.subTest(case=name):
                sent = count(case, (inputs.smollm2(), SMOLLM2), inputs, 2)
                print("      %s: %.3f bytes per weight" % (name, sent.all / MODEL.weights))
                for found, expected in zip((sent.gathers, sent.sums, sent.of_ends, sent.rest), DOCUMENTED[name]):
                    if expected is not None:
                        self.assertAlmostEqual(found, expected, delta=0.03 * max(expected, 0.01 * MODEL.weights))

    def test_tokens_at_which_computing_takes_as_long(self):
        """As in docs/sharding.md, "What it costs"."""
        for name, bytes_per_weight, expected in (("LoRA, full", 4, (580, 5200, 10400)),
                                                 ("full tuning, full", 8, (870, 7800, 15600))):
            for rate, tokens in zip((450, 50, 25), expected):
                self.assertAlmostEqual(break_even(bytes_per_weight, CASES[name], 8, rate * 1e9), tokens,
                                       delta=0.03 * tokens)

    def test_few_tokens_hide_nothing_and_many_all_but_the_borders(self):
        rate, received = 50e9, 7 / 8 / 50e9
        full = Sent(gathers=2 * BLOCKS * AFTER_UPDATE, sums=4 * BLOCKS, rest=0, num_gathers=2 * L - 2,
                    end_gathers=(2 * ENDS, 2 * ENDS), end_sums=(4 * ENDS, 4 * ENDS))
        lora = Sent(gathers=BASE * BLOCKS * KEPT, sums=0, rest=1e6, num_gathers=2 * L - 4)
        for name, sent, borders in (("full tuning, full", full, (2 + 4) * (MODEL.block + ENDS)),
                                    ("LoRA, full", lora, 1e6)):
            few, many = (exposed_seconds(sent, CASES[name], MODEL, 8, tokens, rate) for tokens in (0, 1e6))
            self.assertAlmostEqual(few, sent.all * received)
            self.assertAlmostEqual(many, borders * received)

    def test_gradients_that_need_longer_than_backward(self):
        """Of a step without gathers: backward hides as much as it takes, but for the last block."""
        none = Sent(gathers=0, sums=8 * MODEL.weights, rest=0, num_gathers=0)
        backward = 6 * MODEL.weights * 1000 / FLOPS
        self.assertAlmostEqual(exposed_seconds(none, CASES["full tuning, none"], MODEL, 8, 1000, 50e9),
                               8 * MODEL.weights * 7 / 8 / 50e9 - backward * (L - 1) / L)


if __name__ == "__main__":
    main()
