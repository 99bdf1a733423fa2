#!/usr/bin/env python3
"""What can be watched while a run trains: lines, JSON lines, event files. Standard library only.

usage: watching_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import os
import pty
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from command_test import MULTICARD, POST, CommandTest, launch, ranks_of, run, wait_for

WATCHED = ("run.json_lines=true", "run.tensorboard=true")


class Watching(CommandTest):
    def lines(self):
        return [json.loads(line) for line in Path(self.path("out/metrics.jsonl")).read_text().splitlines()]

    def values(self, name):
        return [(line["step"], line[name]) for line in self.lines() if name in line]

    def metric(self, name):
        steps = self.dataset(self.path("out/results.h5"), "/runs/main/metrics/%s_step" % name)
        values = self.dataset(self.path("out/results.h5"), "/runs/main/metrics/" + name)
        return [(int(step), float(value)) for step, value in zip(steps, values)]

    def event_files(self):
        return sorted(Path(self.path("out/tensorboard")).iterdir())

    def test_a_loss_that_is_finite_but_absurd_is_called_divergence(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck, "run.epochs=3", "optimizer.learning_rate=100"),
                    r"warning: training diverges: the training loss rose from \S+ in the first step to \S+ in step \d+",
                    "warning: training diverged: the training loss rose from .* to .*Lower optimizer.learning_rate")
        done = subprocess.run([POST, self.path("out/results.h5"), "--csv"], capture_output=True, text=True)
        self.assertIn("diverged: the training loss rose", done.stderr)

    def test_files_hold_what_the_results_hold(self):
        self.prepare()
        self.expect(0, run(2, "run", self.deck, "run.log_every=3", *WATCHED))
        for name in ("train_loss", "learning_rate", "grad_norm", "eval_accuracy"):
            self.assertEqual(self.values(name), self.metric(name))
        self.assertEqual([step for step, _ in self.values("images_per_s")], [2, 3])
        events = self.event_files()[0].read_bytes()
        for text in (b"brain.Event:2", b"train/loss", b"eval/accuracy", b"speed/step_s", b"deck/text_summary"):
            self.assertIn(text, events)

    def test_a_killed_and_continued_run_has_every_step_once(self):
        self.prepare()
        process = launch(2, "run", self.deck, "run.epochs=100000", "run.checkpoint_every=5", *WATCHED,
                         start_new_session=True)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: any(Path(self.path("out")).glob("checkpoints/step_0000001*/COMPLETE")))
        ranks = ranks_of(process)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        wait_for(lambda: not any(os.path.exists("/proc/%d" % rank) for rank in ranks))  # a second later
        newest = max(int(path.parent.name[len("step_"):])
                     for path in Path(self.path("out")).glob("checkpoints/step_*/COMPLETE"))
        self.assertGreater(len(self.values("train_loss")), 0)
        code, _, err = run(2, "run", self.deck, "run.steps=%d" % (newest + 20), *WATCHED)
        self.assertEqual(code, 0, err)
        self.assertEqual(self.values("train_loss"), self.metric("train_loss"))
        self.assertEqual(self.values("eval_accuracy"), self.metric("eval_accuracy"))
        self.assertEqual(len(self.event_files()), 2)

    def test_files_that_cannot_be_written_end_nothing(self):
        self.prepare()
        os.makedirs(self.path("out"))
        os.symlink(self.path("nowhere/metrics.jsonl"), self.path("out/metrics.jsonl"))
        os.symlink("/proc", self.path("out/tensorboard"))
        _, _, err = self.expect(0, run(2, "run", self.deck, *WATCHED), "warning: .*The run continues without it")
        self.assertEqual(err.count("warning:"), 2, err)

    def test_the_end_says_what_the_run_came_to(self):
        self.prepare()
        self.expect(0, run(2, "run", self.deck), r"done +4 steps in", r"rate +[\d.]+ img/s", r"step +[\d.]+ ms median",
                    r"phases +data_wait", r"memory +peak [\d.]+ [MG]B per rank, program",
                    r"train loss +[\d.]+ of step 4",
                    r"accuracy +[\d.]+ after 4 steps", r"checkpoint +.*step_00000004", r"results +.*results\.h5")

    def test_quiet_says_the_path_and_errors_only(self):
        self.prepare()
        results = self.path("out/results.h5")
        for _ in range(2):  # the second finds the run finished
            self.assertEqual(run(1, "run", self.deck, "--quiet")[2], results + "\n")
        _, _, err = self.expect(6, run(1, "run", self.deck, "--quiet", "run.resume=never",
                                       "optimizer.learning_rate=1e30", "run.keep_checkpoints=0"))
        self.assertRegex(err, r"^%s\nmulticard: .*\n  .*\n$" % results)

    def test_a_terminal_has_one_line_that_fits(self):
        self.prepare()
        leader, follower = pty.openpty()
        environment = dict(os.environ, TERM="xterm")
        process = subprocess.Popen([MULTICARD, "run", self.deck, "run.epochs=6"], stdout=subprocess.DEVNULL,
                                   stderr=follower, env=environment)
        os.close(follower)
        written = b""
        while True:
            try:
                piece = os.read(leader, 4096)
            except OSError:
                break
            if not piece:
                break
            written += piece
        os.close(leader)
        self.assertEqual(process.wait(), 0)
        live = [line for line in written.decode().split("\r") if line.startswith("\x1b[K")]
        self.assertTrue(live)
        for line in live:
            self.assertLessEqual(len(line.split("\n")[0]) - len("\x1b[K"), 79, line)
        self.assertNotRegex(run(1, "run", self.deck, "run.epochs=7")[2], "[\x1b\r]")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
