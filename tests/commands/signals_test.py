#!/usr/bin/env python3
"""Signals by the hundred, of every kind, at runs of every method: no thread that computes runs a handler, and losses
stay bit-equal. Standard library only.

usage: signals_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs. MULTICARD_SIGNALS=10000
       sends that many of each kind to each kind of run, and prints the counts of docs/reliability.md.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from command_test import BIN, DECK, MULTICARD, launch, ranks_of, run, wait_for
from tuning_case import MODEL, SOURCE, TuningCase

COUNT = int(os.environ.get("MULTICARD_SIGNALS", 0))
HANDLERS = str(BIN.parent / "tests/libhandlers.so")
STOPS = ("SIGUSR1", "SIGTERM", "SIGINT", "SIGHUP")
ASKS = ("SIGUSR2",)
HANDLED = ("SIGWINCH", "SIGURG", "SIGCONT", "SIGALRM", "SIGPROF", "SIGIO")  # by libhandlers.so
METHODS = {"LoRA": "{name: lora, rank: 4, alpha: 8}", "QLoRA": "{name: qlora, rank: 4, alpha: 8}",
           "DPO": "{name: lora-dpo, rank: 4, alpha: 8}", "QAT": "{name: qat, group_size: 32}"}
SHARE = """\
tasks:
  - {name: image, deck: image.yaml, steps: 60}
  - {name: text, deck: deck.yaml, steps: 40}
policy: {name: fixed, ranks: {image: 1, text: 1}, interval_s: 0.5}
run: {output: OUTPUT}
"""


def signal_set(which, name):
    """A set of signals of a process (its number) or a thread (PID/task/TID), as the kernel shows it: SigBlk, SigCgt."""
    status = Path("/proc/%s/status" % which).read_text()
    line = next(line for line in status.splitlines() if line.startswith(name + ":"))
    return int(line.split()[1], 16)


def has(signals, number):
    return bool(signals & 1 << (number - 1))


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Storms(TuningCase):
    """A kind of run is given by its name: the arguments of multicard for an output folder, and its runs' losses."""

    def setUp(self):
        super().setUp()
        self.dice = random.Random(1)

    def prepare_all(self):
        self.prepare()  # images; it leaves their deck
        Path(self.path("image.yaml")).write_text(DECK.replace("SCRATCH", self.scratch))
        self.write_deck()
        records = json.loads((SOURCE / "inputs/text/instruction-data-with-preference.json").read_text())[:60]
        Path(self.path("pairs.json")).write_text(json.dumps(records))
        self.expect(0, run(1, "prepare", "text", "--type", "preference", "--tokenizer", MODEL, "--in",
                           self.path("pairs.json"), "-o", self.path("pairs")))

    def arguments(self, name, output):
        if name == "share":
            deck = self.path(output + ".yaml")
            Path(deck).write_text(SHARE.replace("OUTPUT", self.path(output)))
            return ["share", deck]
        often = ["run.output=" + self.path(output), "run.checkpoint_every=0", "run.deterministic=true"]
        if name == "image":
            return ["run", self.path("image.yaml"), "run.epochs=25", *often]
        pairs = ["data.train=" + self.path("pairs-*.h5"), "data.test=null"] if name == "DPO" else []
        return ["run", self.deck, "method=" + METHODS[name], "run.steps=80", "evaluate.every_steps=0", *pairs, *often]

    def losses_of(self, name, output):
        results = self.path(output + "/results.h5")
        return [self.dataset(results, "/runs/%s/metrics/train_loss" % one)
                for one in (("image", "text") if name == "share" else ("main",))]

    def start(self, name, output):
        """A share on two ranks, one for each task, all else on one; with the foreign handlers."""
        ranks = 2 if name == "share" else 1
        launcher = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
        command = [*launcher, "env", "LD_PRELOAD=" + HANDLERS, MULTICARD, *self.arguments(name, output)]
        log = open(self.path("log"), "w")
        self.addCleanup(log.close)
        process = subprocess.Popen(command, stdout=log, stderr=log)
        self.addCleanup(process.kill)
        return process

    def targets(self, process):
        if process.args[0] == "mpirun":
            return ranks_of(process)
        return [process.pid]

    def wait_for_handlers(self, process):
        """A signal before would be that of mpirun or env."""
        ranks = 2 if process.args[0] == "mpirun" else 1
        wait_for(lambda: process.poll() is not None or len(self.targets(process)) == ranks and
                 all(has(signal_set(pid, "SigCgt"), signal.SIGWINCH) for pid in self.targets(process)))

    def storm(self, process, number, most):
        """Sends up to `most` signals while the process runs; returns how many."""
        self.wait_for_handlers(process)
        time.sleep(self.dice.uniform(0, 1.5))
        pids, sent = self.targets(process), 0
        while process.poll() is None and sent < most:
            for pid in pids:
                send(pid, number)
            sent += 1
            time.sleep(self.dice.expovariate(1000))
        return sent

    def check_storm(self, name, kind, count, wanted):
        """Runs again and again under `kind` until that many were sent; every run that ends must have these losses."""
        sent, runs, launches = 0, 0, 0
        while sent < count or launches == 0:
            output = "%s-%s-%d" % (name, kind, runs)
            code = 75
            while code == 75:
                process = self.start(name, output)
                launches += 1
                sent += self.storm(process, getattr(signal, kind), count - sent)
                code = process.wait(timeout=300)
                if kind not in STOPS:
                    self.assertNotEqual(code, 75)
            self.assertEqual(code, 0, "%s, %s: %s" % (name, kind, Path(self.path("log")).read_text()[-2000:]))
            self.assertEqual(self.losses_of(name, output), wanted, "%s, %s" % (name, kind))
            runs += 1
        if COUNT:
            print("%-6s %-9s %6d signals, %4d launches, %4d runs bit-equal" % (name, kind, sent, launches, runs),
                  flush=True)

    def check_storms(self, names, kinds, count):
        self.prepare_all()
        for name in names:
            process = self.start(name, "whole-" + name)
            self.assertEqual(process.wait(timeout=300), 0, Path(self.path("log")).read_text()[-2000:])
            wanted = self.losses_of(name, "whole-" + name)
            self.assertGreater(len(wanted[0]), 30)
            for kind in kinds:
                self.check_storm(name, kind, count, wanted)


class SignalStorm(Storms):
    @unittest.skipIf(COUNT, "the long form is asked for")
    def test_losses_are_those_of_an_undisturbed_run(self):
        self.check_storms(["LoRA"], ["SIGUSR2", "SIGUSR1", "SIGWINCH"], 300)

    @unittest.skipUnless(COUNT, "MULTICARD_SIGNALS is not set")
    def test_many_signals_of_each_kind_at_each_kind_of_run(self):
        self.check_storms(["image", *METHODS, "share"], [*ASKS, *STOPS, *HANDLED], COUNT)


class SignalThread(Storms):
    BLOCKED = ("SIGUSR1", "SIGUSR2", "SIGTERM", "SIGINT", "SIGHUP", *HANDLED)

    @staticmethod
    def num_open(pid, number):
        """How many threads of the process do not block a signal."""
        count = 0
        for thread in os.listdir("/proc/%d/task" % pid):
            try:
                count += not has(signal_set("%d/task/%s" % (pid, thread), "SigBlk"), number)
            except (FileNotFoundError, ProcessLookupError):  # the thread has just ended
                continue
        return count

    def test_all_threads_but_one_block_all_signals_while_a_share_runs(self):
        self.prepare_all()
        process = self.start("share", "out")
        self.wait_for_handlers(process)
        looks = 0
        while process.poll() is None:
            for pid in ranks_of(process):
                for kind in self.BLOCKED:
                    try:
                        self.assertLessEqual(self.num_open(pid, getattr(signal, kind)), 1, kind)
                        looks += 1
                    except FileNotFoundError:  # it has just ended
                        pass
            time.sleep(0.05)
        self.assertEqual(process.wait(), 0, Path(self.path("log")).read_text()[-2000:])
        self.assertGreater(looks, 20)


class EndedBySignal(TuningCase):
    """What keeps nothing half-way ends within a second, whatever it is doing."""

    def expect_end(self, process, number, name):
        wait_for(lambda: has(signal_set(process.pid, "SigBlk"), number))  # before, it ends silently
        time.sleep(0.3)
        began = time.time()
        process.send_signal(number)
        process.wait(timeout=60)  # communicate() would also end its input, and it could end by that
        _, err = process.communicate()
        self.assertEqual(process.returncode, 128 + number, err)
        self.assertIn("ended by " + name, err)
        self.assertLess(time.time() - began, 5)  # a second where the machine is free

    def waits_for_input(self, *arguments):
        return launch(1, *arguments, stdin=subprocess.PIPE)

    def test_commands_that_wait_for_input(self):
        for arguments in (("tokenize", MODEL), ("generate", MODEL, "-")):
            self.expect_end(self.waits_for_input(*arguments), signal.SIGINT, "SIGINT (Ctrl-C)")
            self.expect_end(self.waits_for_input(*arguments), signal.SIGTERM, "SIGTERM")
            self.expect_end(self.waits_for_input(*arguments), signal.SIGHUP, "SIGHUP")

    def test_commands_that_compute(self):
        self.expect(0, run(1, "run", self.deck))
        generating = self.waits_for_input("generate", MODEL, "-", "--max-new", "400", "--ignore-eos")
        generating.stdin.write("Once upon a time\n" * 1000)
        generating.stdin.flush()
        self.expect_end(generating, signal.SIGTERM, "SIGTERM")
        self.prepare_text("long", 0, 1000)
        self.expect_end(launch(1, "eval", self.deck, "data.test=" + self.path("long-train*.h5"), "run.micro_batch=1",
                               "-o", self.path("new/eval.h5")), signal.SIGINT, "SIGINT (Ctrl-C)")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
