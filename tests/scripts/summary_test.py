#!/usr/bin/env python3
"""What scripts/summary.py makes of ctest's reports. Standard library only.

usage: summary_test.py [unittest arguments]   MULTICARD_SOURCE is the tree.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("MULTICARD_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
PASSED = '<testcase name="a/Passed" status="run"/>'
FAILED = '<testcase name="a/Failed" status="fail"><failure message="Failed"/></testcase>'
SKIPPED = ('<testcase name="a/Skipped" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
           "<system-out>SKIPPED: no tool</system-out></testcase>")


class Summary(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="multicard-summary.")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def report(self, name, *cases):
        path = self.folder / name
        path.write_text(f"<testsuite>{''.join(cases)}</testsuite>", encoding="utf-8")
        return path

    def summary(self, *arguments, status):
        run = subprocess.run([sys.executable, SOURCE / "scripts" / "summary.py", *arguments], capture_output=True,
                             text=True, check=False)
        self.assertEqual(run.returncode, status, run)
        return run.stdout

    def test_adds_the_tests_of_all_reports(self):
        one, two = self.report("one.xml", PASSED, SKIPPED), self.report("two.xml", PASSED, PASSED)
        self.assertEqual(self.summary(f"={one}", f"asan={two}", status=0),
                         "skipped: a/Skipped: SKIPPED: no tool\n3 passed, 0 failed\n")

    def test_names_failed_tests_and_fails(self):
        one, two = self.report("one.xml", PASSED), self.report("two.xml", PASSED, FAILED)
        self.assertEqual(self.summary(f"={one}", f"asan={two}", status=1),
                         "FAILED: asan a/Failed\n2 passed, 1 failed\n")

    def test_a_report_that_is_not_there_is_a_failure(self):
        one = self.report("one.xml", PASSED)
        self.assertEqual(self.summary(f"={one}", f"asan={self.folder}/none.xml", status=1),
                         "FAILED: asan no tests ran\n1 passed, 1 failed\n")

    def test_a_truncated_report_is_a_failure(self):
        one, two = self.report("one.xml", PASSED), self.report("two.xml", PASSED)
        two.write_text("<testsuite><testcase name=", encoding="utf-8")
        said = self.summary(f"={one}", f"asan={two}", status=1)
        self.assertIn("FAILED: asan ", said)
        self.assertIn("1 passed, 1 failed", said)

    def test_fails_where_nothing_ran(self):
        self.assertEqual(self.summary(f"={self.report('one.xml')}", status=1), "0 passed, 0 failed\n")


if __name__ == "__main__":
    unittest.main()
