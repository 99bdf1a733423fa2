#!/usr/bin/env python3
"""Prints the skipped and failed tests of ctest's JUnit reports and, last, `N passed, N failed`.

usage: summary.py NAME=REPORT ...     NAME stands before the tests of a report, unless it is empty

Ends with 1 if a test failed or none ran; a report that is missing or incomplete is a failure.
"""
import pathlib
import sys
import xml.etree.ElementTree as tree


def read_report(name, path):
    """(number of tests, skipped, failed) of a report, after naming the latter two."""
    if not path.is_file():
        print(f"FAILED: {name}no tests ran")
        return 1, 0, 1
    try:
        cases = tree.parse(path).getroot().findall("testcase")
    except tree.ParseError as reason:  # ctest was ended while it wrote
        print(f"FAILED: {name}{path} cannot be read: {reason}")
        return 1, 0, 1
    skipped = failed = 0
    for case in cases:
        reason = case.find("skipped")
        if reason is not None and reason.get("message", "").startswith("SKIP_"):  # the test itself asked for it
            text = (case.findtext("system-out") or "").strip().splitlines()
            print(f"skipped: {name}{case.get('name')}: {text[-1] if text else 'no reason given'}")
            skipped += 1
        elif case.get("status") != "run":  # failed, timed out, or its program is missing
            print(f"FAILED: {name}{case.get('name')}")
            failed += 1
    return len(cases), skipped, failed


def main():
    passed = failures = 0
    for argument in sys.argv[1:]:
        name, _, path = argument.partition("=")
        cases, skipped, failed = read_report(f"{name} " if name else "", pathlib.Path(path))
        passed += cases - skipped - failed
        failures += failed
    print(f"{passed} passed, {failures} failed")
    sys.exit(1 if failures or not passed else 0)


if __name__ == "__main__":
    main()
