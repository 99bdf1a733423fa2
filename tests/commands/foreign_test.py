#!/usr/bin/env python3
"""Every command in folders full of files of others: none of them is changed, removed or replaced.

usage: foreign_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs. With
MULTICARD_TEST_FULL=1 every name is tried in every kind, which takes minutes.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from command_test import MULTICARD, POST, CommandTest, run

MODEL = str(Path(os.environ["MULTICARD_SOURCE"]) / "tests/data/models/tinystories-656K")
FULL = os.environ.get("MULTICARD_TEST_FULL") == "1"
KINDS = ("file", "folder", "link to a file", "link to a folder", "link to nothing")
TEMPORARY = ".%s.some-host-1-0.part"
# What the commands write, and neighbours of it.
NAMES_OF_RUN = ("results.h5", "checkpoints", "records", "metrics.jsonl", ".lock", "checkpoints/step_00000002",
                "checkpoints/.git", "checkpoints/BEST", "checkpoints/.step_00000002", "records/step_00000002.h5",
                "records/interview.wav", "tensorboard", TEMPORARY % "results.h5", "checkpoints/.multicard",
                "checkpoints/" + TEMPORARY % "step_00000002", "records/" + TEMPORARY % "step_00000002.h5")
NAMES_OF_SWEEP = ("partial", "partial/0000.h5", "partial/0000.running", "partial/sweep.sha256", "partial/notes.txt",
                  ".sweep.sha256", "results.h5", "variants", "partial/" + TEMPORARY % "0000.h5")
NAMES_OF_SHARE = ("tasks", "share.json", "tasks/notes.txt", "tasks/a", "tasks/a/checkpoints/step_00000002",
                  "tasks/a/results.h5", "tasks/a/.lock", "tasks/a/records/interview.wav", "results.h5")
NAMES_OF_REPORT = ("report.html", "summary.json", "runs.csv", "cells.csv", "options.csv", "training_loss.svg",
                   TEMPORARY % "report.html")


def snapshot(folder):
    """What stands in a folder: kind and content of every path."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        if path.is_symlink():
            found[str(path)] = "link " + os.readlink(path)
        elif path.is_dir():
            found[str(path)] = "folder"
        else:
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


class Foreign(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.made = Foreign("prepare")
        cls.made.setUp()
        cls.addClassCleanup(cls.made.doCleanups)
        cls.made.prepare(train=32, test=8)
        cls.made.expect(0, run(1, "run", cls.made.deck, "run.checkpoint_every=0"))

    def setUp(self):
        super().setUp()
        if not hasattr(type(self), "made"):
            return
        for shards in Path(self.made.scratch).glob("t*.h5"):
            os.symlink(shards, self.path(shards.name))
        self.outside = self.path("outside")
        self.out = self.path("work")

    def put(self, name, kind):
        """Something of another's, under a name in the output folder."""
        path, other = Path(self.out, name), Path(self.outside, name)
        for parent in (path.parent, other.parent):
            parent.mkdir(parents=True, exist_ok=True)
        if kind == "link to a file":
            other.write_text("precious")
        if kind == "link to a folder":
            other.mkdir()
            (other / "precious.txt").write_text("precious")
        if kind.startswith("link"):
            path.symlink_to(other)
        elif kind == "file":
            path.write_text("precious")
        else:
            path.mkdir()
            (path / "precious.txt").write_text("precious")

    def check(self, command, names, kinds, may_add=True):
        """One folder with all these names; the command may refuse it, and changes nothing of it."""
        for folder in (self.out, self.outside):
            shutil.rmtree(folder, True)
        for name, kind in zip(names, kinds):
            self.put(name, kind)
        before = {**snapshot(self.out), **snapshot(self.outside)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=self.out,
                              stdin=subprocess.DEVNULL)
        after = {**snapshot(self.out), **snapshot(self.outside)}
        said = "%s, %s: exit %d\n%s" % (names, kinds, done.returncode, done.stderr)
        self.assertIn(done.returncode, (0, 2, 4), said)
        self.assertEqual({path: after.get(path) for path in before}, before, said)
        if done.returncode == 2 or not may_add:
            self.assertEqual(after, before, said)
            self.assertNotIn("defect", done.stderr)
        return done

    def check_each(self, command, names):
        """Each name in one kind of foreign file or in all of them."""
        for number, name in enumerate(names):
            for kind in KINDS if FULL else (KINDS[number % len(KINDS)],):
                self.check(command, (name,), (kind,))

    def check_all(self, command, names):
        """All names in folders at once."""
        inner = [name for name in names if "/" in name and not any(other.startswith(name + "/") for other in names)]
        self.check(command, inner, ["file"] * len(inner))

    def deck_of(self, name, text):
        Path(self.path(name)).write_text(text)
        return self.path(name)

    def test_run(self):
        command = [MULTICARD, "run", self.deck, "run.output=.", "run.json_lines=true", "run.tensorboard=true"]
        self.check_all(command, NAMES_OF_RUN)
        self.check_each(command, NAMES_OF_RUN)

    def test_run_that_starts_over(self):
        command = [MULTICARD, "run", self.deck, "run.output=" + self.out, "run.resume=never"]
        self.check_all(command, NAMES_OF_RUN)
        self.check_each(command, NAMES_OF_RUN[1:])

    def test_sweep(self):
        deck = self.deck_of("sweep.yaml", "base: deck.yaml\nrun: {output: .}\nlimits: {steps: 2, skip_steps: 1}\n"
                            "sweep: {optimizer.learning_rate: [0.1]}\n")
        self.check_all([MULTICARD, "sweep", deck, "run.resume=never"], NAMES_OF_SWEEP)
        self.check_each([MULTICARD, "sweep", deck], NAMES_OF_SWEEP)

    def test_share(self):
        deck = self.deck_of("share.yaml", "tasks: [{name: a, deck: deck.yaml, steps: 2}]\nrun: {output: .}\n")
        self.check_all([MULTICARD, "share", deck, "run.resume=never"], NAMES_OF_SHARE)
        self.check_each([MULTICARD, "share", deck], NAMES_OF_SHARE)

    def test_commands_that_score_write_and_report(self):
        trained, results = self.made.path("out/checkpoints/step_00000002"), self.made.path("out/results.h5")
        for kind in KINDS:
            self.check([MULTICARD, "eval", trained, "run.output=."], ("eval.h5",), (kind,))
            self.check([MULTICARD, "export", trained, "exported"], ("exported",), (kind,))
        self.check([MULTICARD, "eval", trained, "-o", "mine.h5"], ("mine.h5",), ("file",))
        plan = self.deck_of("plan.yaml", "machine: {gpus: 2}\ntasks: [{name: a, table: %s, work: 9}]\n" %
                            self.deck_of("a.csv", "gpus,rate\n1,1\n"))
        for kind in KINDS:
            self.check([MULTICARD, "plan", plan, "--svg", "plan.svg"], ("plan.svg",), (kind,))
        self.check_each([POST, results, "-o", "."], NAMES_OF_REPORT)
        self.check([POST, results, "-o", "report.html"], ("report.html",), ("file",))

    def test_commands_that_prepare_and_tell(self):
        images = [MULTICARD, "prepare", "images", "--format", "synthetic", "--size", "32", "--limit", "8",
                  "-o", "s"]
        texts = [MULTICARD, "prepare", "text", "--type", "tokens", "--in", self.deck_of("t.jsonl",
            '{"tokens":[1,2]}\n'),
                 "-o", "s"]
        for command in (images, texts):
            self.check_each(command, ("s-00000-of-00001.h5", "s-00003-of-00009.h5", TEMPORARY % "s",
                                      TEMPORARY % "s-00000-of-00001.h5", "s"))
        self.check([MULTICARD, "info", "--selftest"],
                   ("multicard-selftest", TEMPORARY % "multicard-selftest"), ("folder", "folder"))

    def test_commands_that_only_tell(self):
        names = NAMES_OF_RUN + NAMES_OF_SWEEP + NAMES_OF_SHARE + NAMES_OF_REPORT
        inner = sorted({name for name in names if not any(other.startswith(name + "/") for other in names)})
        for command in (["tokenize", MODEL], ["generate", MODEL, "Once", "--max-new", "2"], ["info"],
                        ["run", self.deck, "run.output=.", "--print-config"],
                        ["run", self.deck, "run.output=.", "--dry-run"]):
            done = self.check([MULTICARD, *command], inner, ["file"] * len(inner), may_add=False)
            self.assertIn(done.returncode, (0, 2) if "--dry-run" in command else (0,), done.stderr)

    def test_links_of_an_output_stay_links(self):
        for name in ("checkpoints", "records"):
            os.makedirs(os.path.join(self.outside, name))
            os.makedirs(self.out, exist_ok=True)
            os.symlink(os.path.join(self.outside, name), os.path.join(self.out, name))
        for name in ("results.h5", "metrics.jsonl"):
            os.symlink(os.path.join(self.outside, name), os.path.join(self.out, name))
        for resume in ("auto", "never", "never"):
            self.expect(0, run(1, "run", self.deck, "run.output=" + self.out, "run.resume=" + resume,
                               "run.json_lines=true", "run.checkpoint_every=0"))
            for name in ("checkpoints", "records", "results.h5", "metrics.jsonl"):
                self.assertTrue(os.path.islink(os.path.join(self.out, name)), (resume, name))
        self.assertTrue(os.path.isfile(os.path.join(self.outside, "results.h5")))
        self.assertTrue(os.path.isdir(os.path.join(self.outside, "checkpoints/step_00000002")))

    def test_what_is_put_among_the_programs_files_stays(self):
        arguments = ("run", self.deck, "run.output=" + self.out)
        self.expect(0, run(1, *arguments, "run.checkpoint_every=1"))
        notes = [Path(self.out, "checkpoints/step_00000002/notes.txt"), Path(self.out, "checkpoints/.git/HEAD"),
                 Path(self.out, "checkpoints/the best/model.pt"), Path(self.out, "records/interview.wav"),
                 Path(self.out, "checkpoints/step_00000001/notes.txt")]
        for path in notes:
            path.parent.mkdir(exist_ok=True)
            path.write_text("precious")
        self.expect(0, run(1, *arguments, "run.resume=never", "run.checkpoint_every=1", "run.keep_checkpoints=1"))
        self.expect(0, run(1, *arguments, "run.epochs=2", "run.checkpoint_every=1"))
        for path in notes:
            self.assertEqual(path.read_text(), "precious", path)
        self.assertFalse(Path(self.out, "checkpoints/step_00000001/COMPLETE").exists())
        self.assertTrue(Path(self.out, "checkpoints/step_00000004/COMPLETE").exists())

    def test_results_of_another_command_are_kept(self):
        deck = self.deck_of("share.yaml", "tasks: [{name: a, deck: deck.yaml, steps: 2}]\n"
                            "run: {output: %s}\n" % self.out)
        shutil.copytree(self.made.path("out"), self.out)
        self.expect(2, run(1, "share", deck), "holds the results of another command")
        self.assertEqual(Path(self.out, "results.h5").read_bytes(), Path(self.made.path("out/results.h5")).read_bytes())

    def test_secrets_of_the_environment_reach_no_file(self):
        secrets = {"SLURM_JWT": "header.payload.signature", "OMPI_MCA_MY_Token": "abcdefgh-12345678"}
        environment = {**os.environ, **secrets, "SLURM_JOB_NAME": "abcdefgh-12345678-job"}
        self.expect(0, run(1, "run", self.deck, "run.output=" + self.out, env=environment))
        self.expect(2, run(1, "run", self.deck, "run.output=%s/${SLURM_JWT}" % self.out, env=environment),
                    "names the variable SLURM_JWT")
        subprocess.run([POST, os.path.join(self.out, "results.h5")], check=True, capture_output=True)
        for path in Path(self.out).rglob("*"):
            for secret in secrets.values():
                self.assertFalse(path.is_file() and secret.encode() in path.read_bytes(), path)

    def test_control_characters_in_paths_are_refused(self):
        for character in ("\\0", "\\n", "\\e"):
            deck = Path(self.deck).read_text().replace(self.scratch + "/out", '"%s/o/i%smg"' % (self.scratch,
                character))
            self.expect(2, run(1, "run", self.deck_of("control.yaml", deck)), "has a control character")
        self.assertFalse(os.path.exists(self.path("o")))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
