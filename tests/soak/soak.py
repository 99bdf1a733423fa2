#!/usr/bin/env python3
"""Disturbs runs, sweeps and prepare at random moments until the time is over, starts each again until it is done, and
compares what it leaves with what the undisturbed one left: bit for bit. Standard library only.

usage: soak.py MINUTES [--seed N] [--only NAME] [--disturbances N]   MULTICARD_BIN is the folder of the programs
"""

import argparse
import collections
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(os.environ["MULTICARD_SOURCE"])
sys.path.insert(0, str(SOURCE / "tests/commands"))
from command_test import DECK, H5DUMP, MULTICARD, ranks_of  # noqa: E402

MODEL = SOURCE / "tests/data/models/tinystories-656K"
RECORDS = SOURCE / "inputs/text/instruction-data.json"
MOST_DISTURBANCES = 8  # of one piece of work; then it is left alone until it is done
LORA_DECK = """\
task: llm
model: {path: MODEL, dtype: fp32}
method: {name: lora, rank: 4, alpha: 8}
data: {train: "SCRATCH/text-train*.h5", test: "SCRATCH/text-test*.h5", max_length: 160}
optimizer: {name: adamw, learning_rate: 0.002, clip_norm: 1.0}
run: {output: SCRATCH/out, steps: 60, global_batch: 4, seed: 3, checkpoint_every: 2, log_every: 1}
evaluate: {every_steps: 20, every_epochs: 0}
"""
SWEEP_DECK = """\
base: deck.yaml
run: {output: SCRATCH/out}
limits: {steps: 12, skip_steps: 1}
sweep: {ranks: [1, 2], run.global_batch: [8, 16]}
"""


def start(ranks, arguments, log):
    command = ["mpirun", "-n", str(ranks), MULTICARD, *arguments]
    return subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)


def session_of(process):
    listed = subprocess.run(["ps", "-o", "pid=", "-s", str(process.pid)], capture_output=True, text=True)
    return [int(pid) for pid in listed.stdout.split()]


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def losses(results, run):
    """Values of a run's training loss, bit for bit."""
    done = subprocess.run([H5DUMP, "-d", "/runs/%s/metrics/train_loss" % run, "-m", "%.17g", "-y", "-w", "0", results],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return re.search(r"DATA \{(.*?)\}", done.stdout, re.S).group(1).split()


def check_checkpoints(output):
    """Every checkpoint that bears its name must be as it was written."""
    for marker in Path(output).glob("checkpoints/step_*/COMPLETE"):
        folder = marker.parent
        text = (folder / "trainer.json").read_bytes()
        assert marker.read_text().strip() == hashlib.sha256(text).hexdigest(), "%s: trainer.json" % folder
        state = json.loads(text)
        assert folder.name == "step_%08d" % state["step"], folder
        for name, written in state["files"].items():
            assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == written["sha256"], folder / name


class Work:
    """Something to be done. `arguments` of multicard, given the folder it writes to."""

    def __init__(self, name, ranks, arguments, fingerprint, check=lambda output: None):
        self.name, self.ranks, self.arguments = name, ranks, arguments
        self.fingerprint, self.check = fingerprint, check
        self.seconds, self.whole = 0.0, None

    def is_done(self, output):
        """Whether a launch was killed when all its shards were named: the next one does not replace them."""
        return self.whole and self.name.startswith("prepare") and self.fingerprint(output) == self.whole

    def run_undisturbed(self, output, log):
        begin = time.time()
        code = start(self.ranks, self.arguments(output), log).wait()
        assert code == 0, "the undisturbed %s ended with %d" % (self.name, code)
        self.seconds, self.whole = time.time() - begin, self.fingerprint(output)


def prints_of_run(tensors):
    def fingerprint(output):
        last = sorted(Path(output).glob("checkpoints/step_*"))[-1]
        hashes = [hashlib.sha256((last / name).read_bytes()).hexdigest() for name in tensors]
        return [last.name, *hashes, losses(str(Path(output) / "results.h5"), "main")]
    return fingerprint


def prints_of_sweep(output):
    return [losses(str(Path(output) / "results.h5"), "%04d" % run) for run in range(4)]


def prints_of_shards(output):
    return [(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in sorted(Path(output).iterdir())]


def all_work(scratch):
    def here(text):
        return text.replace("SCRATCH", scratch).replace("MODEL", str(MODEL))
    deck, lora, sweep = (os.path.join(scratch, name) for name in ("deck.yaml", "lora.yaml", "sweep.yaml"))
    Path(deck).write_text(here(DECK))
    Path(lora).write_text(here(LORA_DECK))
    Path(sweep).write_text(here(SWEEP_DECK))
    images = ["prepare", "images", "--format", "synthetic", "--classes", "4"]
    text = ["prepare", "text", "--type", "alpaca", "--tokenizer", str(MODEL), "--in", str(RECORDS), "--split", "0.2"]
    for name, limit in (("train", 64), ("test", 16)):
        subprocess.run([MULTICARD, *images, "--size", "32", "--limit", str(limit), "-o", os.path.join(scratch, name)],
                       check=True, capture_output=True)
    subprocess.run([MULTICARD, *text, "-o", os.path.join(scratch, "text")], check=True, capture_output=True)
    return [
        Work("image run", 2, lambda output: ["run", deck, "run.deterministic=true", "run.epochs=30",
                                             "run.checkpoint_every=2", "run.ema_decay=0.9", "run.output=" + output],
             prints_of_run(("model.safetensors", "optimizer.safetensors", "ema.safetensors")), check_checkpoints),
        Work("LoRA run", 2, lambda output: ["run", lora, "run.deterministic=true", "run.output=" + output],
             prints_of_run(("adapter_model.safetensors", "optimizer.safetensors")), check_checkpoints),
        Work("sweep", 2, lambda output: ["sweep", sweep, "run.deterministic=true", "run.output=" + output],
             prints_of_sweep),
        Work("prepare images", 2, lambda output: [*images, "--size", "64", "--limit", "20000", "--shards", "3", "-o",
                                                  os.path.join(output, "set")], prints_of_shards),
        Work("prepare text", 2, lambda output: [*text, "--shards", "3", "-o", os.path.join(output, "set")],
             prints_of_shards),
    ]


def let_variants_start_again(output):
    """A sweep gives up a variant during which the job ended twice, unless its mark is removed (docs/exit_codes.md)."""
    for mark in Path(output).glob("partial/*.running"):
        if mark.read_text() != "1":
            mark.unlink()


def kill_rank(process, dice):
    ranks = ranks_of(process)
    if ranks:
        send(dice.choice(ranks), signal.SIGKILL)


def kill_all(process, dice):
    victims = session_of(process)
    dice.shuffle(victims)
    for pid in victims:
        send(pid, signal.SIGKILL)


def kill_launcher(process, dice):
    send(process.pid, signal.SIGKILL)


def signal_launcher(process, dice):
    send(process.pid, dice.choice((signal.SIGUSR1, signal.SIGTERM, signal.SIGINT)))


def signal_rank(process, dice):
    ranks = ranks_of(process)
    if ranks:
        send(dice.choice(ranks), dice.choice((signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP)))


def pause_rank(process, dice):
    ranks = ranks_of(process)
    if ranks:
        rank = dice.choice(ranks)
        send(rank, signal.SIGSTOP)
        time.sleep(dice.uniform(0, 1))
        send(rank, signal.SIGCONT)


DISTURBANCES = {"SIGKILL to a rank": kill_rank, "SIGKILL to all": kill_all, "SIGKILL to mpirun": kill_launcher,
                "signal to mpirun": signal_launcher, "signal to a rank": signal_rank, "pause of a rank": pause_rank}


# mpirun itself (negative) or a rank ended by SIGABRT, SIGBUS, SIGFPE or SIGSEGV, which no test sends.
CRASHES = {code for number in (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGSEGV)
           for code in (-number, 128 + number)}


class Soak:
    def __init__(self, scratch, dice):
        self.scratch, self.dice = scratch, dice
        self.counts, self.codes, self.done, self.failures = (collections.Counter() for _ in range(4))
        self.log = open(os.path.join(scratch, "log"), "w+")
        self.next_line = 60

    def end(self, process):
        """Waits for the job, and for ranks that outlive a killed launcher."""
        try:
            code = process.wait(timeout=120)
        except subprocess.TimeoutExpired:
            self.failures["hung"] += 1
            code = None
        deadline = time.time() + 30
        while session_of(process) and time.time() < deadline:
            time.sleep(0.05)
        for pid in session_of(process):
            self.failures["rank outlived its launcher"] += 1
            send(pid, signal.SIGKILL)
        return code

    def fail(self, work, text):
        self.failures[work.name] += 1
        self.log.flush()
        kept = os.path.join(self.scratch, "failure-%d" % sum(self.failures.values()))
        shutil.copytree(os.path.join(self.scratch, "out"), kept, ignore_dangling_symlinks=True)
        tail = Path(self.log.name).read_text(errors="replace")[-2000:]
        print("FAILED  %s: %s\n        kept in %s\n%s" % (work.name, text, kept, tail), flush=True)

    def disturb(self, work, process):
        """Returns what was done, or nothing where the job had ended before."""
        time.sleep(self.dice.uniform(0, max(2.0, work.seconds)))
        if process.poll() is not None:
            return None
        kind = self.dice.choice(list(DISTURBANCES))
        DISTURBANCES[kind](process, self.dice)
        self.counts[kind] += 1
        return kind

    def tell_of_crash(self, work, code, kind, since):
        """A job that a signal ended which no test sent: what it printed last says whose fault it was."""
        if code not in CRASHES:
            return
        self.log.flush()
        printed = Path(self.log.name).read_bytes()[since:].decode(errors="replace")
        print("CRASH   %s ended with %d after '%s':\n%s" % (work.name, code, kind, printed[-3000:]), flush=True)

    def episode(self, work):
        output = os.path.join(self.scratch, "out")
        shutil.rmtree(output, ignore_errors=True)
        for life in range(100):
            let_variants_start_again(output)
            since = os.path.getsize(self.log.name)
            process = start(work.ranks, work.arguments(output), self.log)
            kind = self.disturb(work, process) if life < MOST_DISTURBANCES else None
            code = self.end(process)
            self.codes[code] += 1
            self.tell_of_crash(work, code, kind, since)
            work.check(output)
            if code == 0 or code == 4 and work.is_done(output):
                break
            if life >= MOST_DISTURBANCES or code in (2, 3, 4, 6):
                return self.fail(work, "launch %d ended with %s" % (life + 1, code))
        found = work.fingerprint(output)
        if found != work.whole:
            return self.fail(work, "the result differs from the undisturbed one")
        self.done[work.name] += 1
        return None

    def num_disturbances(self):
        return sum(self.counts.values())

    def tell(self, seconds):
        """A line every minute."""
        if seconds >= self.next_line:
            counts = (self.num_disturbances(), sum(self.done.values()), sum(self.failures.values()))
            print("%3.0f min, %d disturbances, %d done bit-equal, %d failures" % (seconds / 60, *counts), flush=True)
            self.next_line = seconds + 60

    def report(self, seconds):
        print("\n%.0f minutes, %d disturbances:" % (seconds / 60, self.num_disturbances()))
        for title, table in (("disturbances", self.counts), ("exit codes", self.codes), ("done, bit-equal", self.done),
                             ("failures", self.failures)):
            print("  %-16s %s" % (title, ", ".join("%s: %d" % (key, table[key]) for key in sorted(table, key=str))
                                  or "none"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("minutes", type=float)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", help="one kind of work, such as 'LoRA run'")
    parser.add_argument("--disturbances", type=int, default=sys.maxsize, help="end after that many, if time is left")
    options = parser.parse_args()
    scratch = tempfile.mkdtemp(prefix="multicard-soak-")
    soak = Soak(scratch, random.Random(options.seed))
    works = [work for work in all_work(scratch) if options.only in (None, work.name)]
    print("seed %d, in %s" % (options.seed, scratch), flush=True)
    for number, work in enumerate(works):
        work.run_undisturbed(os.path.join(scratch, "whole-%d" % number), soak.log)
        print("%-16s undisturbed in %.1f s" % (work.name, work.seconds), flush=True)
    begin = time.time()
    try:
        while time.time() - begin < 60 * options.minutes and soak.num_disturbances() < options.disturbances:
            work = soak.dice.choice(works)
            try:
                soak.episode(work)
            except AssertionError as error:
                soak.fail(work, str(error))
            soak.tell(time.time() - begin)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    soak.report(time.time() - begin)
    if not soak.failures:
        shutil.rmtree(scratch)
    return 1 if soak.failures else 0


if __name__ == "__main__":
    sys.exit(main())
