#!/usr/bin/env python3
"""The scripts of postproc/examples on a real run and a real sweep, and the copies of them in docs/bridges.md.

usage: examples_test.py [CLASS ...]   MULTICARD_SOURCE is the tree, MULTICARD_BIN the folder of the programs. A script
whose packages are not installed (scripts/setup_docs.sh --examples) is skipped; ends with 77 where all are.
"""
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("MULTICARD_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
BIN = pathlib.Path(os.environ["MULTICARD_BIN"])
EXAMPLES = SOURCE / "postproc/examples"
CACHE = pathlib.Path(os.environ.get("MULTICARD_CACHE", pathlib.Path.home() / ".cache/multicard"))
TOOLS = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(CACHE / "example-tools"),
                                                                   os.environ.get("PYTHONPATH"))))}
DECK = SOURCE / "inputs/image/tiny.yaml"


def python(*words, cwd, **environment):
    command = [os.environ.get("MULTICARD_PYTHON", "python3"), *map(str, words)]
    return subprocess.run(command, cwd=cwd, env={**TOOLS, **environment}, capture_output=True, text=True, check=False)


class Example(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="multicard-examples.")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)

    def needs(self, *packages):
        missing = f"import importlib.util as u; print(*(p for p in {packages!r} if u.find_spec(p) is None))"
        if absent := python("-c", missing, cwd=self.folder).stdout.split():
            self.skipTest(f"not installed: {', '.join(absent)} (scripts/setup_docs.sh --examples)")

    @classmethod
    def multicard(cls, program, *words):
        done = subprocess.run([BIN / program, *words], cwd=cls.folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(f"{program} {words} ended with {done.returncode}:\n{done.stderr}")

    @classmethod
    def prepare(cls):
        cls.multicard("multicard", "prepare", "images", "--format", "synthetic", "--size", "16", "--classes", "4",
                      "--limit", "64", "-o", "data/tiny/train")


class Bridges(Example):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.prepare()
        cls.multicard("multicard", "run", DECK, "data.test=data/tiny/train*.h5", "data.image_size=16", "run.epochs=2",
                      "run.json_lines=true", "run.output=results/tiny", "evaluate.every_epochs=1")
        cls.metrics = cls.folder / "results/tiny/metrics.jsonl"

    def bridge(self, name, **environment):
        copied = python(EXAMPLES / f"bridges/{name}_bridge.py", self.metrics, cwd=self.folder, **environment)
        self.assertEqual(copied.returncode, 0, copied.stderr)

    def test_wandb_has_the_run(self):
        self.needs("wandb")
        self.bridge("wandb", WANDB_MODE="offline", WANDB_SILENT="true")
        records = [path.read_bytes() for path in self.folder.glob("wandb/offline-run-*/*.wandb")]
        self.assertEqual(len(records), 1)
        for name in (b"train_loss", b"eval_accuracy"):
            self.assertIn(name, records[0])

    def test_mlflow_has_every_value(self):
        self.needs("mlflow", "sqlalchemy", "alembic")
        self.bridge("mlflow", MLFLOW_TRACKING_URI=f"sqlite:///{self.folder}/mlflow.db")
        with sqlite3.connect(self.folder / "mlflow.db") as database:
            found = dict(database.execute("select key, count(*) from metrics group by key"))
            last = database.execute("select max(step) from metrics where key = 'eval_accuracy'").fetchone()
            names = database.execute("select name from runs").fetchall()
        self.assertEqual((found["train_loss"], found["eval_accuracy"], last, names), (4, 2, (4,), [("tiny",)]))

    def test_aim_has_the_run(self):
        self.needs("aim")
        self.bridge("aim")
        # A run that `aim up` has not indexed yet can be read by opening it again.
        count = ("import aim; from aim.storage.context import Context; "
                 "run = aim.Run(aim.Repo('.').list_all_runs()[0], system_tracking_interval=None); "
                 "print(run.name, *(len(run.get_metric(name, Context({})).values.sparse_list()[1]) "
                 "for name in ('train_loss', 'eval_accuracy')))")
        self.assertEqual(python("-c", count, cwd=self.folder).stdout, "tiny 4 2\n")

    def test_stand_in_the_document_as_they_are(self):
        document = (SOURCE / "docs/bridges.md").read_text(encoding="utf-8")
        for path in sorted(EXAMPLES.glob("bridges/*.py")):
            text = path.read_text(encoding="utf-8")
            self.assertIn(f"```python\n{text}```\n", document, path)
            self.assertLessEqual(text.count("\n"), 27, path)


class SweepFigure(Example):
    def test_is_drawn_and_names_stay_text(self):
        self.needs("pandas", "matplotlib")
        self.prepare()
        deck = self.folder / "sweep.yaml"
        deck.write_text(f"base: {DECK}\nsweep: {{optimizer.name: [sgd, adamw]}}\nrun: {{output: results/sweep}}\n"
                        "repeat: 2\ndata: {test: null, image_size: 16}\nlimits: {steps: 4, skip_steps: 1}\n",
                        encoding="utf-8")
        self.multicard("multicard", "sweep", deck)
        self.multicard("multicard-post", "results/sweep/results.h5")
        drawn = python(EXAMPLES / "plot_sweep.py", "results/sweep", "rates.svg", cwd=self.folder)
        self.assertEqual(drawn.returncode, 0, drawn.stderr)
        self.assertIn("<svg", (self.folder / "rates.svg").read_text(encoding="utf-8"))
        show = "import plot_sweep; print(list(plot_sweep.read('results/sweep/runs.csv')['run']))"
        shown = python("-c", f"import sys; sys.path.insert(0, {str(EXAMPLES)!r}); {show}", cwd=self.folder)
        self.assertEqual(shown.stdout, "['0000', '0001', '0002', '0003']\n", shown.stderr)

    def test_lines_are_named_by_the_axes_of_the_sweep(self):
        self.needs("pandas", "matplotlib")
        (self.folder / "cells.csv").write_text("configuration,axis.parallel.strategy,axis.batch,ranks\n"
                                               "\"ddp, 8\",ddp,8,1\n\"ddp, not set\",ddp,not set,1\n", encoding="utf-8")
        show = ("import plot_sweep; cells = plot_sweep.read('cells.csv'); keys = plot_sweep.axes_of(cells); "
                "print([plot_sweep.name_of(keys, values) for values, _ in cells.groupby(keys, sort=False)])")
        shown = python("-c", f"import sys; sys.path.insert(0, {str(EXAMPLES)!r}); {show}", cwd=self.folder)
        self.assertEqual(shown.stdout, "['strategy ddp, batch 8', 'strategy ddp, batch not set']\n", shown.stderr)

    def test_keeps_names_that_read_like_missing_values(self):
        self.needs("pandas", "matplotlib")
        (self.folder / "cells.csv").write_text("configuration,ranks,rate_per_s\nnull,1,2.5\nNA,2,\n", encoding="utf-8")
        show = ("import plot_sweep; cells = plot_sweep.read('cells.csv'); "
                "print(list(cells['configuration']), cells['rate_per_s'].isna().sum())")
        shown = python("-c", f"import sys; sys.path.insert(0, {str(EXAMPLES)!r}); {show}", cwd=self.folder)
        self.assertEqual(shown.stdout, "['null', 'NA'] 1\n", shown.stderr)


if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=2)
    if not program.result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if program.result.skipped and len(program.result.skipped) >= program.result.testsRun - 1 else 0)
