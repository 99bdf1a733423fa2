#!/usr/bin/env python3
"""A step of a deck launches no more than its budget allows: kernels, matrix products and cuDNN's functions together, of
forward, backward and update. budgets.csv is the table; a deck that stays well below says to what it can be lowered.

usage: budget_test.py NAME   runs one test class; see fake_run.py
"""

import csv
import math
import shutil
import tempfile
import unittest
from pathlib import Path

from decks import DECKS, Inputs, counts_of_step
from fake_run import main

WELL_BELOW = 0.97


def budgets():
    with open(Path(__file__).with_name("budgets.csv"), newline="", encoding="utf-8") as file:
        return {row["deck"]: int(row["launches"]) for row in csv.DictReader(file)}


class Budgets(unittest.TestCase):
    def test_every_deck_has_one(self):
        self.assertEqual([deck.name for deck in DECKS if deck.is_tested], list(budgets()))

    def test_launches(self):
        folder = tempfile.mkdtemp(prefix="multicard-fake-budgets-")
        self.addCleanup(shutil.rmtree, folder, True)
        inputs, allowed = Inputs(folder), budgets()
        for deck in DECKS:
            if deck.is_tested:
                with self.subTest(deck=deck.name):
                    self.check(deck, inputs, allowed[deck.name])

    def check(self, deck, inputs, allowed):
        ranks, steps, _ = counts_of_step(deck, inputs)
        most = math.ceil(max(rank.launches() for rank in ranks) / steps)
        print("      %s: %d launches, budget %d" % (deck.name, most, allowed))
        if most < WELL_BELOW * allowed:
            print("      ^ the budget can be lowered to %d (tests/fake_gpu/budgets.csv)" % most)
        self.assertLessEqual(most, allowed, "launches of a step")


if __name__ == "__main__":
    main()
