#!/usr/bin/env python3
"""What stands at the end of the scripts: the reports that they make, against an independent computation.

usage: golden_scripts_test.py CLASS   runs one test class; needs h5py and numpy"""

import os
import subprocess
import unittest

from golden_case import GoldenCase, main


class ScriptCase(GoldenCase):
    def script(self, *words, **changes):
        """Runs a script in the scratch folder, which looks like a source tree."""
        environment = {**os.environ, "MULTICARD_RANKS": "2", **changes}
        done = subprocess.run([self.scratch / "scripts" / words[0], *words[1:]], cwd=self.scratch, env=environment,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def results(self, *names):
        return [self.scratch / "results" / name / "results.h5" for name in names]


class Scripts(ScriptCase):
    """The small forms."""

    def script(self, *words, **changes):
        super().script(*words, "--smoke", MULTICARD_CACHE=str(self.scratch / "cache"), **changes)

    def test_the_image_study(self):
        self.script("study.sh", "--ranks", "2")
        parts = ("scaling", "image_size", "precision", "input", "exchange")
        report, studies = self.compare(self.results(*(f"study_smoke/{part}" for part in parts)), 2,
                                       self.scratch / "results/study_smoke/report")
        self.assertEqual(len(studies), 5)
        self.assertEqual(len(report.tables("cells")), 5)

    def test_the_study_of_dataset_types(self):
        self.script("study_llm.sh", "--ranks", "2")
        report, studies = self.compare(self.results("study_llm_smoke/rows", "study_llm_smoke/tokens"), 2,
                                       self.scratch / "results/study_llm_smoke/report")
        self.assertEqual([list(study.axes) for study in studies], [["case"], ["case"]])
        self.assertEqual(len(report.tables("data_sets")), 2)

    def test_the_demo_of_images(self):
        self.script("demo.sh", "image")
        training, scaling = self.results("fashion_smoke", "fashion_scaling_smoke")
        report, _ = self.compare([training], 2, training.parent)
        self.assertEqual(report.summary["studies"][0]["answers"][0]["id"], "training")
        report, _ = self.compare([scaling], 2, scaling.parent)
        self.assertIn("speedup", [one["id"] for one in report.summary["studies"][0]["answers"]])

    def test_the_demo_of_text(self):
        self.script("demo.sh", "llm")
        (path,) = self.results("lora_smoke")
        report, (study,) = self.compare([path], 2, path.parent)
        self.assertEqual(report.summary["studies"][0]["answers"][0]["id"], "training")
        self.assertTrue(study.runs[0].answers)


@unittest.skipUnless(os.environ.get("MULTICARD_TEST_FULL") == "1", "takes half an hour: scripts/test.sh --full runs it")
class LongScripts(ScriptCase):
    """What the README starts, as it is."""

    def test_the_image_study(self):
        parts = ("scaling", "image_size", "precision", "input", "exchange")
        self.script("study.sh", "--quick", "--ranks", "2")
        self.compare(self.results(*(f"study_quick/{part}" for part in parts)), 2,
                     self.scratch / "results/study_quick/report")

    def test_the_study_of_dataset_types(self):
        self.script("study_llm.sh", "--quick", "--ranks", "2")
        self.compare(self.results("study_llm_quick/rows", "study_llm_quick/tokens"), 2,
                     self.scratch / "results/study_llm_quick/report")

    def test_the_demo_of_images_ends_with_a_speedup(self):
        self.script("demo.sh")
        training, scaling = self.results("fashion", "fashion_scaling")
        report, _ = self.compare([training], 2, training.parent)
        self.assertGreater(report.summary["studies"][0]["answers"][0]["numbers"]["accuracy"], 0.75)
        report, _ = self.compare([scaling], 2, scaling.parent)
        answer = report.summary["studies"][0]["answers"][0]
        self.assertEqual(answer["id"], "speedup")
        self.assertIn("ratio_low", answer["numbers"])


if __name__ == "__main__":
    main()
