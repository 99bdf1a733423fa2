#!/usr/bin/env python3
"""Runs every combination of tests/fake_gpu/cases.py on the fake GPU, or a part of them; about 6 s a case.

usage: matrix.py image|language|all [--full] [--part I/N]     e.g. matrix.py all --full
  --full   all combinations; without it as few as hold every pair of values
  --part   the I-th of N parts, from 1
Needs the targets multicard, multicard-post and fake_gpu of build/release (MULTICARD_BUILD names another build).
Prints a line a case and ends with 1 if one failed.
"""
import argparse
import os
import pathlib
import sys
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("MULTICARD_BUILD", str(SOURCE / "build" / "release"))
os.environ.setdefault("MULTICARD_BIN", os.environ["MULTICARD_BUILD"] + "/bin")

from cases import IMAGE, LANGUAGE, all_cases, check_case, covering_cases  # noqa: E402  (reads the environment)
from fake_run import FakeGpuTest  # noqa: E402


class Case(FakeGpuTest):
    def runTest(self):
        for kind, case in CASES:
            try:
                check_case(self, self.image if kind == "image" else self.language, case)
                print("ok     ", kind, case, flush=True)
            except AssertionError as error:
                FAILED.append(case)
                print("FAILED ", kind, case, "\n", error, flush=True)


CASES, FAILED = [], []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["image", "language", "all"])
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--part", default="1/1")
    options = parser.parse_args()
    for kind, values in (("image", IMAGE), ("language", LANGUAGE)):
        if options.kind in (kind, "all"):
            CASES.extend((kind, case) for case in (all_cases(values) if options.full else covering_cases(values, 2)))
    part, number = map(int, options.part.split("/"))
    CASES[:] = CASES[part - 1 :: number]
    passed = unittest.TextTestRunner(verbosity=0).run(unittest.TestSuite([Case()])).wasSuccessful()
    print(f"{len(CASES) - len(FAILED)} of {len(CASES)} cases passed")
    sys.exit(1 if FAILED or not passed else 0)


if __name__ == "__main__":
    main()
