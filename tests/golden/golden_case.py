"""What golden tests share: an interpreter that has h5py, shards, small forms of decks, reports and all comparisons.

MULTICARD_BIN is the folder of the programs, MULTICARD_SOURCE the source tree."""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["MULTICARD_SOURCE"])
sys.path.insert(0, str(SOURCE / "tests/commands"))


def find_h5py():
    """Starts again with a Python that has h5py and numpy, where this one has not; ends as skipped where none has."""
    try:
        import h5py  # noqa: F401
        return
    except ImportError:
        pass
    python = "/usr/bin/python3"  # apt's h5py is for this one
    if os.path.exists(python) and not os.path.samefile(sys.executable, python) and \
            subprocess.run([python, "-c", "import h5py, numpy"], capture_output=True, check=False).returncode == 0:
        os.execv(python, [python, *sys.argv])
    print("SKIPPED: no Python here has h5py: install python3-h5py (scripts/setup.sh --test)")
    sys.exit(77)


find_h5py()

from checks import Checks  # noqa: E402
from command_test import POST, run  # noqa: E402
from figure_checks import FigureChecks  # noqa: E402
from methods import MethodChecks  # noqa: E402
from recompute import studies_of  # noqa: E402
from report import Report  # noqa: E402
from run_findings import FindingChecks  # noqa: E402
from share_checks import ShareChecks, read_allocation  # noqa: E402
from statement_checks import StatementChecks  # noqa: E402
from table_checks import TableChecks  # noqa: E402

MODEL = str(SOURCE / "tests/data/models/tinystories-656K")


def small(deck, **changes):
    """The words that run a shipped deck in its small form. The one place that knows what that is."""
    return [SOURCE / deck, "--smoke", *(f"{key}={value}" for key, value in changes.items() if value is not None)]


class GoldenCase(Checks, StatementChecks, FindingChecks, ShareChecks, FigureChecks, TableChecks, MethodChecks,
                 unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.scratch = Path(tempfile.mkdtemp(prefix="multicard-golden-"))
        atexit.register(shutil.rmtree, cls.scratch, True)
        for name in ("tests", "inputs", "scripts"):
            (cls.scratch / name).symlink_to(SOURCE / name)

    def call(self, ranks, *words, code=0, timeout=200):
        """Starts multicard where the paths of decks begin; returns its standard output."""
        done, out, err = run(ranks, *map(str, words), timeout=timeout, cwd=self.scratch)
        self.assertEqual(done, code, f"{words}\n{out}\n{err}")
        return out

    def images(self, name="images", size=32, limit=64):
        """Shards NAME-*.h5 of synthetic images, made once; returns their pattern."""
        prefix = self.scratch / name
        if not list(self.scratch.glob(name + "-*.h5")):
            self.call(1, "prepare", "images", "--format", "synthetic", "--size", size, "--classes", 4, "--limit", limit,
                      "-o", prefix)
        return f"{prefix}-*.h5"

    def texts(self, name, kind, source, *words):
        """Shards NAME-train and NAME-test of some records, made once; returns both patterns."""
        prefix = self.scratch / name
        if not list(self.scratch.glob(name + "-train-*.h5")):
            self.call(1, "prepare", "text", "--type", kind, "--tokenizer", MODEL, "--in", SOURCE / source, "--split",
                      "0.2", "-o", prefix, *words)
        return f"{prefix}-train-*.h5", f"{prefix}-test-*.h5"

    def report(self, *results, folder=None):
        """The report of results files, as multicard-post writes it."""
        folder = folder or Path(results[0]).parent / "report"
        # The source tree may be in a home folder, whose paths would be filtered.
        words = [POST, *map(str, results), "-o", str(folder), "--full-provenance"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return Report(folder)

    def sweep(self, deck, name, world=2, **changes):
        """Runs a sweep of a shipped deck in its small form, makes its report and compares all of it; returns both."""
        output = self.scratch / name
        self.call(world, "sweep", *small(deck, **{"run.output": output, **changes}))
        return self.compare([output / "results.h5"], world)

    def compare(self, results, world, folder=None):
        """The report of results files (the one in `folder`, where it was made already) and its studies, compared."""
        report = Report(folder) if folder else self.report(*results)
        studies = [study for path in results for study in studies_of(path, world)]
        self.allocation = read_allocation(results[0])
        self.assertEqual(len(report.summary["studies"]), len(studies))
        order = [self.study_of(found, studies) for found in report.summary["studies"]]
        labels = [{entry["label"]: entry["settings"] for entry in found["configurations"]}
                  for found in report.summary["studies"]]
        for found, study, of_labels in zip(report.summary["studies"], order, labels):
            self.check_settings(found, study)
            self.check_cells(found, study)
            self.check_runs(found, study)
            self.check_options(found, study)
            self.check_statements(found, study, of_labels)
            self.check_findings(found, study)
            self.check_figures(found, study, of_labels)
        if self.allocation:
            self.check_share(report)
        else:
            self.check_headline(report.summary, order)
        self.check_subject(report.summary, order)
        self.check_tables(report, order, labels)
        self.check_csv(report, order, labels)
        return report, order

    @staticmethod
    def study_of(found, studies):
        names, axes = {run["name"] for run in found["runs"]}, {axis["key"] for axis in found["axes"]}
        fits = [study for study in studies if {run.name for run in study.runs} == names]
        return next((study for study in fits if set(study.axes) == axes), fits[0])

    def check_headline(self, summary, studies):
        """The first answer of the study with the most runs, whose numbers check_statements() has compared."""
        most = max(range(len(studies)), key=lambda i: len(studies[i].runs))  # of equals the first
        answer, headline = summary["studies"][most]["answers"][0], summary["headline"]
        text = answer["text"].rstrip(".")
        if len(studies) > 1:
            text += " (the largest of %d studies)" % len(studies)
        self.assertEqual(headline["text"], text)
        numbers = {name: value for name, value in headline["numbers"].items() if name != "studies"}
        self.assertEqual(numbers, answer["numbers"])

    def check_subject(self, summary, studies):
        subject, expected = summary["subject"], {}
        if len(studies) > 1:
            self.assertEqual(subject["numbers"], {"studies": len(studies)})
            for found in summary["studies"]:
                self.assertIn(found["title"], subject["text"])
            return
        count = {tuple(cell.settings.items()) for cell in studies[0].cells}
        if len(count) > 1:
            done = {tuple(cell.settings.items()) for cell in studies[0].cells if cell.counts}
            expected = {"configurations": len(count), "completed": len(done)}
        self.assertEqual(subject["numbers"], expected)
        self.assert_printed(subject["text"], [summary["studies"][0]["title"]], expected.values(), "subject")


def main():
    result = unittest.main(defaultTest=sys.argv[1:2] or None, argv=sys.argv[:1], exit=False).result
    is_skipped = result.testsRun > 0 and len(result.skipped) == result.testsRun
    sys.exit(1 if not result.wasSuccessful() else 77 if is_skipped else 0)
