#!/usr/bin/env python3
"""multicard-post A B --compare on stored results (tests/data/reports). Standard library only.

usage: compare_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import gzip
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from command_test import POST, CommandTest

REPORTS = Path(os.environ["MULTICARD_SOURCE"]) / "tests/data/reports"


class Compare(CommandTest):
    def stored(self, report, name=None):
        path = Path(self.path(name or f"{report}.h5"))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.decompress((REPORTS / f"{report}.h5.gz").read_bytes()))
        return str(path)

    def post(self, code, *words):
        done = subprocess.run([POST, *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr if code else done.stdout

    def test_the_answer_comes_first_then_what_explains_it(self):
        out = self.post(0, self.stored("strong"), self.stored("more_ranks"), "--compare")
        self.assertRegex(out, r"\ANo measurable difference in speed between A and B over 2 configurations \(.*\)\.\n")
        self.assertRegex(out, r"(?m)^No measurable difference of the mean step \(40\.02 → 16\.58 ms; ")
        self.assertRegex(out, r"(?m)^Not compared: 1 only in B\.$")
        self.assertRegex(out, r"(?m)^configuration +A, images/s +B, images/s +B/A \(95 %\) ")
        self.assertRegex(out, r"(?m)^mobilenet_v2, ddp-ds, fp32 on 2 ranks +1545 +1921 +1\.24 \(0\.26–12\.56\) ")
        self.assertRegex(out, r"(?m)^backward +21\.47 +9\.008 +−12\.5 \(−43\.7 to \+18\.7\) +53\.2 %$")
        self.assertNotIn("run.global_batch", out)  # both have one

    def test_one_result_has_no_difference_to_itself(self):
        file = self.stored("training")
        out = self.post(0, file, file, "--compare")
        self.assertRegex(out, r"\ANo measurable difference in speed between A and B \(0\.\d+–1\.\d+\)\.\n")
        self.assertIn("has the same times to the last digit: A and B hold the same runs.", out)
        self.assertNotIn("differs", out)

    def test_settings_of_other_work_are_said(self):
        out = self.post(0, self.stored("strong"), self.stored("weak"), "--compare")
        self.assertIn("A and B do different work", out)
        self.assertRegex(out, r"(?m)^run\.batch_per_rank +– +16 +work$")

    def test_folders_stand_for_their_results_and_files_can_be_several(self):
        a, b = self.stored("strong", "a/results.h5"), self.stored("more_ranks", "b/results.h5")
        folders = json.loads(self.post(0, self.path("a"), self.path("b"), "--compare", "--json"))
        self.assertEqual(folders["headline"], json.loads(self.post(0, a, "--compare", b, "--json"))["headline"])
        several = json.loads(self.post(0, a, self.stored("weak"), "--compare", b, "--json"))
        self.assertEqual(len(several["a"]), 2)
        os.mkdir(self.path("empty"))
        self.assertIn("holds no results.h5", self.post(4, self.path("empty"), b, "--compare"))

    def test_a_page_and_its_data_are_written_on_request(self):
        words = [self.stored("strong"), self.stored("more_ranks"), "--compare", "-o", self.path("out")]
        self.assertIn("report  " + self.path("out/comparison.html"), self.post(0, *words))
        page = Path(self.path("out/comparison.html")).read_text(encoding="utf-8")
        self.assertIn("<h1>No measurable difference in speed between A and B over 2", page)
        for table in ("compared-cells", "compared-phases", "compared-collectives", "compared-environment"):
            self.assertIn(f'data-table="{table}"', page)
        written = json.loads(Path(self.path("out/comparison.json")).read_text(encoding="utf-8"))
        self.assertEqual(written["format"], "multicard-comparison")
        self.post(0, *words)  # replaces its own files
        Path(self.path("out/comparison.json")).write_text("mine", encoding="utf-8")
        self.assertIn("was not written by multicard-post", self.post(2, *words))

    def test_what_cannot_be_compared_is_refused(self):
        image, text, short = self.stored("strong"), self.stored("methods"), self.stored("few_steps")
        self.assertIn("--compare takes two results, not 1", self.post(2, image, "--compare"))
        self.assertIn("--compare takes two results, not 3", self.post(2, image, text, short, "--compare"))
        self.post(2, image, text, "--compare", "--csv")
        self.post(2, image, text, "--compare", "--pdf")
        self.assertIn("A and B have no configuration in common", self.post(4, image, text, "--compare"))
        self.assertIn("none has measured steps in both", self.post(4, self.stored("training"), short, "--compare"))
        self.post(4, image, self.path("missing.h5"), "--compare")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
