"""Compares multicard with its peers on random cases.

usage: python3 tests/peers/random [--cases N] [--seed S] [--case I] KIND...      (by run.sh, which finds the peers)
  --cases N   number of each kind (100)
  --seed S    cases of this seed (1)
  --case I    this case alone, and shows it
Ends with 1 if a case differs silently, or if so few are equal that the comparison says little.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # what the tests of the folder above share

import cases  # pylint: disable=wrong-import-position

MODULES = {"images": "image_cases", "folders": "folder_cases", "tokenizers": "tokenizer_cases",
           "records": "record_cases", "models": "model_cases"}
SMALLEST_SHARE = 0.4  # of equal cases


def kind_named(name):
    return importlib.import_module(MODULES[name]).KIND()


def compare(name, options):
    """Whether all cases of a kind are equal, refused or said."""
    kind = kind_named(name)
    numbers = range(options.cases) if options.case is None else [options.case]
    if options.case is not None:
        print(json.dumps(cases.case_of(kind, options.seed, options.case)))
    try:
        tally = cases.run(kind, options.seed, numbers)
    finally:
        kind.close()
    print(f"seed {options.seed}", *tally.rows(), sep="\n", flush=True)
    is_said_enough = options.case is not None or tally.counts[cases.EQUAL] >= SMALLEST_SHARE * len(numbers)
    if not is_said_enough:
        print(f"{name}: fewer than {SMALLEST_SHARE:.0%} of the cases are equal")
    return not tally.failures and is_said_enough


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--case", type=int)
    parser.add_argument("kinds", nargs="*", choices=[[], *MODULES])
    options = parser.parse_args()
    outcomes = [compare(name, options) for name in options.kinds or MODULES]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
