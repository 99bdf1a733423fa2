#!/usr/bin/env python3
"""The commands as a person runs them: exit codes, messages, files, failures. Standard library only.

usage: commands_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

BIN = Path(os.environ["MULTICARD_BIN"])
MULTICARD, POST = str(BIN / "multicard"), str(BIN / "multicard-post")
H5DUMP = shutil.which("h5dump") or "h5dump"

DECK = """\
task: image
model: {name: mobilenet_v2, width: 0.25, dropout: 0.0}
data: {train: "SCRATCH/train*.h5", test: "SCRATCH/test*.h5", image_size: 32}
optimizer: {name: sgd, learning_rate: 0.05, momentum: 0.9}
run: {output: SCRATCH/out, epochs: 1, global_batch: 16, seed: 3, checkpoint_every: 4, log_every: 1}
"""


def launch(ranks, *arguments, **options):
    """Starts multicard under mpirun (one rank: without it)."""
    command = [MULTICARD, *arguments]
    if ranks > 1:
        command = ["mpirun", "-n", str(ranks), *command]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def run(ranks, *arguments, timeout=120):
    process = launch(ranks, *arguments)
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def ranks_of(launcher):
    """Process ids of the multicard ranks below a launcher, in order of their start."""
    text = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(launcher.pid)],
                          capture_output=True, text=True).stdout
    return [int(line.split()[0]) for line in text.splitlines() if line.split()[1] == "multicard"]


def wait_for(condition, seconds=60):
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("nothing happened within %d s" % seconds)


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="multicard-commands-")
        self.addCleanup(shutil.rmtree, self.scratch, True)
        self.deck = self.path("deck.yaml")
        Path(self.deck).write_text(DECK.replace("SCRATCH", self.scratch))

    def path(self, name):
        return os.path.join(self.scratch, name)

    def prepare(self, train=64, test=16, ranks=1):
        for name, limit in (("train", train), ("test", test)):
            code, _, err = run(ranks, "prepare", "images", "--format", "synthetic", "--size", "32", "--classes", "4",
                               "--limit", str(limit), "-o", self.path(name))
            self.assertEqual(code, 0, err)

    def expect(self, code, result, *texts):
        self.assertEqual(result[0], code, "\n".join(result[1:]))
        for text in texts:
            self.assertRegex(result[2], text)
        return result

    def runs(self, results):
        """The table of runs that multicard-post prints, a dictionary each."""
        done = subprocess.run([POST, results, "--csv"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def dataset(self, results, path):
        """Values of a float dataset, bit for bit as text."""
        done = subprocess.run([H5DUMP, "-d", path, "-m", "%.17g", "-y", "-w", "0", results],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        body = re.search(r"DATA \{(.*?)\}", done.stdout, re.S).group(1)
        return [value.strip() for value in body.split(",") if value.strip()]

    def attribute(self, results, path):
        done = subprocess.run([H5DUMP, "-a", path, results], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def start_long_run(self, *overrides):
        """A run of two ranks that lasts long enough to be disturbed; returns once it trains."""
        self.prepare()
        process = launch(2, "run", self.deck, "run.epochs=100000", *overrides, start_new_session=True)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: os.path.isdir(self.path("out/checkpoints")) and
                 any(Path(self.path("out/checkpoints")).glob("step_*/COMPLETE")))
        return process

    @staticmethod
    def kill_group(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()


class Usage(CommandTest):
    def test_help_and_version(self):
        self.assertIn("sweep", self.expect(0, run(1, "--help"))[1])
        self.assertRegex(self.expect(0, run(1, "--version"))[1], r"multicard \d+\.\d+\.\d+")

    def test_no_or_unknown_command(self):
        self.expect(2, run(1))
        self.expect(2, run(1, "trian"))

    def test_unknown_key_names_the_nearest(self):
        self.expect(2, run(2, "run", self.deck, "optimizer.learning_rat=1"),
                    r"optimizer\.learning_rat.*unknown key.*Did you mean learning_rate")

    def test_wrong_type(self):
        self.expect(2, run(1, "run", self.deck, "run.epochs=many"), r"run\.epochs.*many")

    def test_missing_deck_is_said_once(self):
        result = self.expect(2, run(2, "run", self.path("none.yaml")), "none.yaml")
        self.assertEqual(result[2].count("none.yaml"), 1, result[2])

    def test_what_this_version_does_not_offer(self):
        self.expect(2, run(1, "run", self.deck, "parallel.strategy=dp"), "dp")

    def test_print_config_is_a_whole_deck(self):
        code, out, _ = run(2, "run", self.deck, "--print-config", "run.seed=7")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"seed: 7")
        self.assertIn("timeout_s", out)


class Environment(CommandTest):
    def test_more_ranks_than_rows(self):
        self.prepare()
        self.expect(3, run(2, "run", self.deck, "run.global_batch=1"), "2 ranks cannot share a global batch of 1")

    def test_more_memory_than_there_is(self):
        self.prepare()
        self.expect(3, run(2, "run", self.deck, "data.image_size=4000", "run.global_batch=64", "--dry-run"),
                    "this run would need .* available")

    def test_cuda_without_a_gpu(self):
        if shutil.which("nvidia-smi"):
            self.skipTest("this machine has a GPU")
        self.prepare()
        self.expect(3, run(1, "run", self.deck, "run.device=cuda"))

    def test_one_rank_in_a_slurm_step_of_many(self):
        os.environ["SLURM_STEP_NUM_TASKS"] = "4"
        try:
            self.expect(3, run(1, "info"), "--mpi=pmix")
        finally:
            del os.environ["SLURM_STEP_NUM_TASKS"]

    def test_selftest_measures(self):
        result = run(2, "info", "--selftest", "--json")
        self.assertEqual(result[0], 0, result[2])
        info = json.loads(result[1])
        self.assertEqual(len(info["ranks"]), 2)
        self.assertEqual(info["selftest"]["all_reduce"]["payload_bytes"], 4 * 3504872)
        self.assertTrue(info["selftest"]["all_reduce"]["correct"])
        self.assertGreater(info["selftest"]["all_reduce"]["bus_gb_per_s"], 0)
        self.assertGreater(info["selftest"]["shard_read"]["gb_per_s"], 0)


class Data(CommandTest):
    def test_missing_shards(self):
        self.expect(4, run(2, "run", self.deck), "train")

    def test_not_a_shard(self):
        self.prepare()
        Path(self.path("train-00000-of-00001.h5")).write_text("nonsense")
        self.expect(4, run(2, "run", self.deck), "train-00000-of-00001.h5")

    def test_existing_output(self):
        self.prepare()
        self.expect(4, run(1, "prepare", "images", "--format", "synthetic", "--size", "32", "--limit", "8", "-o",
                           self.path("train")), "train-00000-of-00001.h5")

    def test_weights_that_do_not_fit(self):
        self.prepare()
        self.expect(4, run(2, "run", self.deck, "model.weights=" + self.deck), "deck.yaml")


class Run(CommandTest):
    def test_trains_and_writes_results(self):
        self.prepare(ranks=2)
        self.expect(0, run(2, "run", self.deck), "accuracy", "results")
        results = self.path("out/results.h5")
        self.assertEqual(len(self.dataset(results, "/runs/main/metrics/train_loss")), 4)
        self.assertEqual(len(self.dataset(results, "/runs/main/steps/step")), 8)
        self.assertIn('"complete"', self.attribute(results, "/runs/main/status"))
        self.assertTrue(os.path.exists(self.path("out/checkpoints/step_00000004/COMPLETE")))
        self.assertEqual([], [name for name in os.listdir(self.path("out")) if name.startswith(".")])

    def test_a_finished_run_is_not_repeated(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        self.expect(0, run(1, "run", self.deck), "finished")
        self.expect(2, run(1, "run", self.deck, "run.seed=4"), r"run\.seed has changed from 3 to 4")
        self.expect(0, run(1, "run", self.deck, "run.seed=4", "run.resume=never"))

    def test_more_epochs_go_on(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        self.expect(0, run(1, "run", self.deck, "run.epochs=2"), "going on from")
        self.assertEqual(len(self.dataset(self.path("out/results.h5"), "/runs/main/metrics/train_loss")), 8)

    def test_stopped_and_resumed_is_uninterrupted(self):
        whole = self.path("whole")
        self.prepare()
        self.expect(0, run(2, "run", self.deck, "run.epochs=30", "run.output=" + whole))
        process = launch(2, "run", self.deck, "run.epochs=30", start_new_session=True)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: any(Path(self.path("out")).glob("checkpoints/step_*/COMPLETE")))
        process.send_signal(signal.SIGUSR1)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, err)
        self.assertIn('"stopped"', self.attribute(self.path("out/results.h5"), "/runs/main/status"))
        self.expect(0, run(2, "run", self.deck, "run.epochs=30"), "going on from")
        for path in ("/runs/main/metrics/train_loss", "/runs/main/metrics/eval_loss"):
            self.assertEqual(self.dataset(self.path("out/results.h5"), path), self.dataset(whole + "/results.h5", path))
        self.assertEqual(len(self.dataset(self.path("out/results.h5"), "/runs/main/steps/step")), 240)

    def test_dry_run_leaves_nothing(self):
        self.prepare()
        self.expect(0, run(2, "run", self.deck, "--dry-run"), "dry run")
        self.assertFalse(os.path.exists(self.path("out")))


class Failure(CommandTest):
    def test_a_diverged_loss_is_6_and_recorded(self):
        self.prepare()
        self.expect(6, run(2, "run", self.deck, "optimizer.learning_rate=1e30"), r"the loss of step \d+ is")
        self.assertIn('"failed"', self.attribute(self.path("out/results.h5"), "/runs/main/status"))

    def test_a_killed_rank_takes_the_others_down(self):
        process = self.start_long_run()
        start = time.time()
        os.kill(ranks_of(process)[1], signal.SIGKILL)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 137)
        self.assertLess(time.time() - start, 10)

    def test_a_rank_that_stops_answering_is_5(self):
        process = self.start_long_run("run.timeout_s=2")
        os.kill(ranks_of(process)[1], signal.SIGSTOP)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 5, err)
        self.assertRegex(err, r"rank 0 on .* at step \d+ did not finish within 2 s")

    def test_an_error_of_one_rank_names_it(self):
        process = self.start_long_run()
        with open(self.path("train-00000-of-00001.h5"), "r+b") as shard:
            shard.truncate(9000)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 4, err)
        self.assertRegex(err, r"rank [01] on .*train-00000-of-00001\.h5")

    def test_a_full_disk_is_4(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to mount a small file system")
        self.prepare()
        os.mkdir(self.path("small"))
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", self.path("small")]).returncode:
            self.skipTest("no mount here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.path("small")])
        self.expect(4, run(2, "run", self.deck, "run.output=" + self.path("small/out")), "No space left|full")


class Sweep(CommandTest):
    def sweep(self, text):
        deck = self.path("sweep.yaml")
        Path(deck).write_text("base: deck.yaml\nrun: {output: %s}\nlimits: {steps: 6, skip_steps: 1}\n%s" %
                              (self.path("sweep"), text))
        return deck

    def test_ranks_and_keys_make_one_file(self):
        self.prepare()
        deck = self.sweep("sweep: {ranks: [1, 2], run.global_batch: [8, 16]}")
        self.expect(0, run(2, "sweep", deck), r"\[4/4\]")
        runs = self.runs(self.path("sweep/results.h5"))
        self.assertEqual(sorted((int(r["ranks"]), int(r["global_batch"])) for r in runs),
                         [(1, 8), (1, 16), (2, 8), (2, 16)])
        self.assertFalse(os.path.exists(self.path("sweep/partial")))
        self.expect(0, run(2, "sweep", deck), "finished")

    def test_agreed_failures_are_recorded(self):
        self.prepare()
        deck = self.sweep("sweep: {optimizer.learning_rate: [0.05, 1.0e+30], parallel.strategy: [ddp-ds, dp]}")
        self.expect(0, run(2, "sweep", deck))
        runs = self.runs(self.path("sweep/results.h5"))
        self.assertEqual([r["status"] for r in sorted(runs, key=lambda r: r["run"])],
                         ["complete", "failed", "failed", "failed"])

    def test_a_killed_variant_is_recorded_by_the_next_launch(self):
        self.prepare()
        deck = self.sweep("sweep: {run.steps: [6, 1000000]}").replace("limits", "#limits")
        text = Path(deck).read_text().replace("limits: {steps: 6, skip_steps: 1}\n", "")
        Path(deck).write_text(text)
        process = launch(2, "sweep", deck, start_new_session=True)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: os.path.exists(self.path("sweep/partial/0001.running")))
        time.sleep(2)
        os.kill(ranks_of(process)[1], signal.SIGKILL)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 137)
        self.expect(0, run(2, "sweep", deck), "already finished", "the job ended while this variant ran")
        runs = self.runs(self.path("sweep/results.h5"))
        self.assertEqual({r["run"]: r["status"] for r in runs}, {"0000": "complete", "0001": "failed"})

    def test_too_many_ranks(self):
        self.prepare()
        self.expect(3, run(2, "sweep", self.sweep("sweep: {ranks: [1, 4]}")), "4")

    def test_unknown_axis(self):
        self.expect(2, run(1, "sweep", self.sweep("sweep: {data.image_sise: [32]}")), "image_size")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
