#!/usr/bin/env python3
"""A step of a deck launches no more than its budget allows: kernels, matrix products and cuDNN's functions together, in
the whole step and in its phases. budgets.csv is the table; a deck that stays well below says to what it can be lowered.

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
PHASES = ("forward", "backward", "update")


def budgets():
    """Launches by deck and column."""
    with open(Path(__file__).with_name("budgets.csv"), newline="", encoding="utf-8") as file:
        return {row["deck"]: {column: int(row[column]) for column in ("step", *PHASES)}
                for row in csv.DictReader(file)}


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
        found = {"step": max(rank.launches() for rank in ranks)}
        for phase in PHASES:
            found[phase] = max(rank.number("phase", phase) for rank in ranks)
        found = {column: math.ceil(number / steps) for column, number in found.items()}
        print("      %s: %s" % (deck.name, ", ".join("%s %d of %d" % (column, found[column], allowed[column])
                                                    for column in allowed)))
        if any(found[column] < WELL_BELOW * allowed[column] for column in allowed):
            print("      ^ the budget can be lowered (tests/fake_gpu/budgets.csv): %s" %
                  ",".join(map(str, found.values())))
        for column, number in found.items():
            self.assertGreater(number, 0)
            self.assertLessEqual(number, allowed[column], "launches of " + column)


if __name__ == "__main__":
    main()
