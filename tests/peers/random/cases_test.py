#!/usr/bin/env python3
"""That cases come again from their seeds, that what differs is found and made small, and that silence is no excuse."""

import unittest
from pathlib import Path
from unittest import mock

import cases
from cases import DIFFERENT, EQUAL, REFUSED, Verdict


class Numbers(cases.Kind):
    """Lists of numbers that differ where one is above 5 and a flag is set."""
    name = "numbers"

    def draw(self, draw):
        return {"numbers": [draw.randrange(10) for _ in range(8)], "flag": draw.random() < 0.5, "text": "abc"}

    def judge(self, case, folder):
        assert isinstance(folder, Path) and not list(folder.iterdir())
        if any(number > 5 for number in case["numbers"]) and case.get("flag"):
            return Verdict(DIFFERENT, "above: 5")
        return Verdict(EQUAL) if case.get("flag") else Verdict(REFUSED, "line 3 of /tmp/x: \"flag\" is missing")


class Cases(unittest.TestCase):
    def test_come_again_from_their_seed(self):
        kind = Numbers()
        self.assertEqual(cases.case_of(kind, 1, 4), cases.case_of(kind, 1, 4))
        self.assertNotEqual(cases.case_of(kind, 1, 4), cases.case_of(kind, 2, 4))

    @mock.patch("builtins.print")
    def test_that_differ_are_counted_and_made_small(self, _):
        kind = Numbers()
        tally = cases.run(kind, 1, range(40))
        self.assertEqual(tally.counts[DIFFERENT], len(tally.failures))
        self.assertGreater(len(tally.failures), 5)
        small = cases.shrunk(kind, cases.case_of(kind, 1, tally.failures[0]))
        self.assertEqual(small, {"numbers": [6], "flag": True})

    @mock.patch("builtins.print")
    def test_are_tallied_by_reasons_without_what_is_particular(self, _):
        tally = cases.run(Numbers(), 1, range(40))
        self.assertEqual([why for _, why in tally.reasons], ['line N of PATH "..." is missing'])

    def test_need_messages_that_name_something(self):
        words = cases.words_of({"model": {"type": "BPE"}, "steps": ["Strip", {"left": True}]})
        self.assertTrue(cases.names_one_of("the step Strip is not supported", words))
        self.assertFalse(cases.names_one_of("it cannot be used", words))


class Programs(unittest.TestCase):
    def test_that_end_are_crashes_and_start_again(self):
        program = cases.Program("bash", "-c", "read line; echo said >&2; echo '{\"a\": 1}'; read line; exit 9")
        self.assertEqual(program.ask(x=1), ({"a": 1}, "said\n"))
        self.assertIn("ended with 9", program.ask(x=2)[0]["crash"])
        self.assertEqual(program.ask(x=1)[0], {"a": 1})
        self.assertEqual(program.close(), 9)


if __name__ == "__main__":
    unittest.main()
