#!/usr/bin/env python3
"""multicard watch on a run, a sweep and a share that work, on a terminal (script) and in pipes; files for Prometheus.

usage: watch_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from command_test import MULTICARD, CommandTest, launch, ranks_of, run, wait_for

SOURCE = Path(os.environ.get("MULTICARD_SOURCE", Path(__file__).resolve().parents[2]))
CACHE = Path(os.environ.get("MULTICARD_CACHE", Path.home() / ".cache/multicard"))
UTF8 = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}


def promtool():
    unpacked = CACHE / "unpacked/prometheus/usr/bin/promtool"
    found = shutil.which("promtool") or (str(unpacked) if unpacked.exists() else None)
    if not found:
        raise unittest.SkipTest("no promtool here (scripts/setup.sh --test unpacks it)")
    return found


def metrics_in(text):
    return set(re.findall(r"\bmulticard_\w+", text))


class OnScript:
    """A command on a terminal that `script` makes."""

    def __init__(self, *words, columns=80, rows=50, **environment):
        command = "stty cols %d rows %d; exec %s" % (columns, rows, " ".join((MULTICARD, "watch", *words)))
        self.process = subprocess.Popen(["script", "-qec", command, "/dev/null"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**UTF8, **environment})
        self.shown = ""
        os.set_blocking(self.process.stdout.fileno(), False)

    def read(self):
        self.shown += (self.process.stdout.read() or b"").decode(errors="replace")
        return self.shown

    def finish(self, seconds=60):
        wait_for(lambda: self.read() is not None and self.process.poll() is not None, seconds)
        self.process.stdout.close()
        return self.process.returncode


class WatchTest(CommandTest):
    def watch(self, *words, code=0, **environment):
        done = subprocess.run([MULTICARD, "watch", *words], capture_output=True, text=True, env={**UTF8, **environment})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def on_terminal(self, *words, **options):
        terminal = OnScript(*words, **options)
        self.addCleanup(lambda: terminal.process.poll() is None and terminal.process.kill())
        return terminal

    def status(self):
        return Path(self.path("out/status.json"))


class Watch(WatchTest):
    def test_a_live_run(self):
        self.prepare()
        terminal = self.on_terminal(self.path("out"), "--interval", "0.3", columns=100)
        wait_for(lambda: "waiting for %s, which is not there yet" % self.path("out") in terminal.read())
        metrics = self.path("out/node.prom")
        process = launch(2, "run", self.deck, "run.epochs=100000", "run.prometheus=" + metrics, start_new_session=True)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: re.search(r"run training for .*images/s.*rank \d is the slowest.*test +after step",
                                   terminal.read(), re.S))
        self.check_once_and_json()
        self.check_metrics(metrics)
        os.kill(ranks_of(process)[0], signal.SIGUSR1)
        self.assertEqual(terminal.finish(), 0)
        self.assertRegex(terminal.shown, r"\x1b\[\d+A\r")  # it redraws in place
        self.assertRegex(terminal.shown, r"\x1b\[33m[^\n]* run interrupted, ")
        self.assertRegex(terminal.shown, "[\u2801-\u28ff]")
        process.communicate()
        self.assertIn("multicard_state{output=\"%s\",state=\"interrupted\"} 1" % self.path("out"),
                      Path(metrics).read_text())

    def check_once_and_json(self):
        for columns in (60, 200):
            for locale, curves in (("C", False), ("C.UTF-8", True)):
                picture = self.watch(self.path("out"), "--once", COLUMNS=str(columns), LC_ALL=locale)
                self.assertEqual([line for line in picture.splitlines() if len(line) > columns], [])
                self.assertNotIn("\x1b", picture)
                self.assertEqual(picture.isascii(), not curves, picture)
        lines = self.watch(self.path("out"), self.path("none"), "--once", "--json").splitlines()
        self.assertEqual(len(lines), 1)
        found, missing = json.loads(lines[0])["outputs"]
        self.assertEqual((found["liveness"], missing["liveness"]), ("working", "missing"))
        told = found["status"]["run"]
        self.assertEqual(told["ranks"], 2)
        self.assertEqual([rank["rank"] for rank in told["per_rank"]], [0, 1])
        self.assertAlmostEqual(sum(told["phases"].values()), 1, 6)
        self.assertGreater(told["history"]["rate"][-1], 0)
        self.assertEqual(sorted(told["memory"][0]), ["kind", "now_bytes", "peak_bytes"])

    def check_metrics(self, file):
        text = Path(file).read_text()
        checked = subprocess.run([promtool(), "check", "metrics"], input=text, capture_output=True, text=True)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))

    def test_a_live_sweep(self):
        self.prepare()
        Path(self.path("sweep.yaml")).write_text(
            "base: deck.yaml\nrun: {output: %s}\nlimits: {steps: 150, skip_steps: 1}\n"
            "sweep: {ranks: [2], precision: [fp32, fp64]}\n" % self.path("out"))
        process = launch(2, "sweep", self.path("sweep.yaml"))
        terminal = self.on_terminal(self.path("out"), "--interval", "0.2", NO_COLOR="1")
        self.assertEqual(terminal.finish(), 0)
        _, err = process.communicate()
        self.assertEqual(process.returncode, 0, err)
        for text in (r"sweep training", "[01]/2 variants done", r"run +\[\d/2\] 000\d", "2/2 variants done",
                     "sweep finished"):
            self.assertRegex(terminal.shown, text)
        self.assertNotRegex(terminal.shown, r"\x1b\[[\d;]*m")

    def test_a_live_share(self):
        self.prepare()
        Path(self.deck).write_text(Path(self.deck).read_text().replace("checkpoint_every: 4, ", ""))
        Path(self.path("share.yaml")).write_text(
            "tasks:\n  - {deck: deck.yaml, name: short, steps: 100}\n"
            "  - {deck: deck.yaml, name: long, steps: 300, overrides: {run.seed: 4}}\n"
            "policy: {interval_s: 1, min_gain: 0}\nrun: {output: %s}\n" % self.path("out"))
        process = launch(2, "share", self.path("share.yaml"))
        terminal = self.on_terminal(self.path("out"), "--interval", "0.2", columns=110)
        self.assertEqual(terminal.finish(), 0)
        _, err = process.communicate()
        self.assertEqual(process.returncode, 0, err)
        for text in ("share training", r"short +training +[12] +\d+/100 ", r"long +training +[12] +\d+/300 ",
                     r"(short|long) has ranks? \d", r"decided +at [\d.]+ s: \w+ \d -> \d ranks?; ",
                     r"next +decision in",
                     r"long +complete +0 +300/300", "share finished"):
            self.assertRegex(terminal.shown, text)

    def test_a_killed_run_and_files_that_are_missing_cut_off_or_replaced(self):
        self.watch(self.path("out"), "--once", code=4)
        process = self.start_long_run()
        wait_for(self.status().exists)
        command = [MULTICARD, "watch", self.path("out"), "--interval", "0.1"]
        lines = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=UTF8)
        self.addCleanup(lambda: lines.poll() is None and lines.kill())
        self.assertRegex(lines.stdout.readline(), r"out  run \w+.* step \d+/")
        ranks = ranks_of(process)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        wait_for(lambda: not any(os.path.exists("/proc/%d" % rank) for rank in ranks))  # a second later
        whole = self.status().read_text()
        for length in (0, 100, len(whole) - 5):
            self.status().write_text(whole[:length])
            self.assertRegex(self.watch(self.path("out"), "--once", code=4), r"to\s+be\s+readable")
        self.status().unlink()
        self.assertIn("waiting for", self.watch(self.path("out"), "--once", code=4))
        Path(self.path("new")).write_text(whole)
        os.rename(self.path("new"), self.status())
        rest = lines.communicate(timeout=30)[0]  # it ends by itself
        self.assertEqual(lines.returncode, 0)
        self.assertRegex(rest, r"run ended without finishing: process \d+ on \S+ is gone")
        self.assertNotIn("\x1b", rest)

    def test_ctrl_c_ends_it_in_order(self):
        for words, sign in (((), signal.SIGINT), (("--json",), signal.SIGTERM)):
            watching = subprocess.Popen([MULTICARD, "watch", self.path("none"), *words], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
            self.assertIn("none", watching.stdout.readline())
            watching.send_signal(sign)
            self.assertEqual(watching.communicate(timeout=20)[1], "")
            self.assertEqual(watching.returncode, 0)

    def test_a_run_that_fails_says_why(self):
        self.prepare()
        code, _, _ = run(1, "run", self.deck, "optimizer.learning_rate=1e30", "run.keep_checkpoints=0")
        self.assertEqual(code, 6)
        self.assertRegex(self.watch(self.path("out"), "--once"), r"(?s)run failed, .*problem +.*the loss of step 1 is ")

    def test_the_variable_turns_it_off(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck, "run.steps=3", f"run.prometheus={self.path('x.prom')}",
                           env={**os.environ, "MULTICARD_STATUS": "off"}))
        self.assertFalse(Path(self.path("out/status.json")).exists())
        self.assertFalse(Path(self.path("x.prom")).exists())
        wrong = run(1, "run", self.deck, "run.steps=3", env={**os.environ, "MULTICARD_STATUS": "none"})
        self.assertIn("Set on or off.", self.expect(2, wrong)[2])

    def test_the_dashboard_shows_what_is_written(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck, "run.prometheus=" + self.path("x.prom")))
        written = metrics_in(Path(self.path("x.prom")).read_text())
        # A run of one rank for a second has no findings.
        source = (SOURCE / "modules/watch/Prometheus.cpp").read_text()
        possible = {"multicard_" + name for name in re.findall(r'(?:metric|gauge)\("(\w+)"', source)}
        self.assertLessEqual(written, possible)
        dashboard = json.loads((SOURCE / "packaging/grafana/multicard.json").read_text())
        shown = metrics_in(json.dumps(dashboard))
        self.assertGreater(len(shown), 10)
        self.assertEqual(shown - possible, set())
        self.assertEqual(shown - written, {"multicard_finding_ratio"})

    def test_what_prometheus_does_not_read_or_others_wrote_is_refused(self):
        self.prepare()
        self.expect(2, run(1, "run", self.deck, "run.prometheus=x.txt"), "does not end in .prom")
        Path(self.path("mine.prom")).write_text("# HELP other\n")
        self.expect(2, run(1, "run", self.deck, "run.prometheus=" + self.path("mine.prom")), r"mine\.prom")
        self.assertEqual(Path(self.path("mine.prom")).read_text(), "# HELP other\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
