#!/usr/bin/env python3
"""Checkpoints that a run can be trusted to: kills at any moment, full disks, damage, two runs in one folder. Standard
library only.

usage: checkpoint_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import hashlib
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest
from pathlib import Path

from command_test import BIN, MULTICARD, CommandTest, launch, ranks_of, run, wait_for


def require_whole_tensors(path):
    """Raises unless the file has exactly the bytes that its header states."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    end = max((entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"), default=0)
    assert len(data) == 8 + length + end, "%s has %d bytes instead of %d" % (path, len(data), 8 + length + end)


def require_digests(path, data, written):
    """Of the whole file, or of the ranges that each rank has written."""
    ranges = written.get("ranges", {"0-%d" % (len(data) - 1): written.get("sha256")})
    places = []
    for text, digest in ranges.items():
        own = [tuple(map(int, part.split("-"))) for part in text.split(",")]
        assert hashlib.sha256(b"".join(data[first:last + 1] for first, last in own)).hexdigest() == digest, path
        places += own
    places.sort()
    assert [first for first, _ in places] == [0] + [last + 1 for _, last in places[:-1]], path
    assert places[-1][1] == len(data) - 1, path


def require_whole(checkpoint):
    state = json.loads((checkpoint / "trainer.json").read_text())
    assert checkpoint.name == "step_%08d" % state["step"], checkpoint
    assert {"model.safetensors", "optimizer.safetensors"} <= set(state["files"]), checkpoint
    for name, written in state["files"].items():
        data = (checkpoint / name).read_bytes()
        assert len(data) == written["bytes"], checkpoint / name
        require_digests(checkpoint / name, data, written)
        if name.endswith(".safetensors"):
            require_whole_tensors(checkpoint / name)
    records = checkpoint.parent.parent / "records" / (checkpoint.name + ".h5")
    assert records.read_bytes()[:8] == b"\x89HDF\r\n\x1a\n", records


class CheckpointTest(CommandTest):
    def complete(self, output="out"):
        return sorted(marker.parent for marker in Path(self.path(output)).glob("checkpoints/step_*/COMPLETE"))

    def newest(self, output="out"):
        found = self.complete(output)
        return int(found[-1].name[5:]) if found else 0

    def log_text(self):
        return Path(self.path("log")).read_text(errors="replace")

    def kill_session(self, process):
        """SIGKILL to the launcher and all ranks, wherever they are, in no particular order."""
        while True:
            listed = subprocess.run(["ps", "-o", "pid=,stat=", "-s", str(process.pid)], capture_output=True, text=True)
            alive = [int(line.split()[0]) for line in listed.stdout.splitlines()
                     if not line.split()[1].startswith("Z")]  # dead, though not yet waited for
            if process.poll() is not None and not alive:
                return
            for pid in alive:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            process.poll()

    def small_disk(self, size):
        if os.geteuid() != 0:
            self.skipTest("needs root to mount a small file system")
        os.mkdir(self.path("small"))
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "none", self.path("small")]).returncode:
            self.skipTest("no mount here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.path("small")])

    def fill_disk(self):
        """Leaves no byte on the small disk; returns the file that takes them."""
        filler = self.path("small/filler")
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        return filler


class KilledRuns(CheckpointTest):
    RANKS = 2

    def life(self, arguments, dice):
        """Starts the run and kills it: now and then while it starts, mostly once it has gone on and is writing."""
        before = self.newest()
        with open(self.path("log"), "w") as log:
            process = subprocess.Popen(["mpirun", "-n", str(self.RANKS), MULTICARD, *arguments],
                                       stdout=log, stderr=log, start_new_session=True)
        self.addCleanup(self.kill_session, process)
        if dice.random() < 0.2:
            time.sleep(dice.uniform(0, 1.0))
        else:
            wait_for(lambda: self.newest() > before or process.poll() is not None)
            time.sleep(dice.uniform(0, 0.15))
        self.assertIsNone(process.poll(), self.log_text())
        self.kill_session(process)
        log = self.log_text()
        if before and "resuming from" in log:
            self.assertIn("resuming from %s/checkpoints/step_%08d" % (self.path("out"), before), log)
        for checkpoint in self.complete():
            require_whole(checkpoint)
        self.assertGreaterEqual(self.newest(), before)

    def require_no_leftovers(self):
        hidden = [path for path in Path(self.path("out")).rglob(".*") if path.name != ".multicard"]
        self.assertEqual(hidden, [], "left by killed writes")


class Kill(KilledRuns):
    KILLS = 30 if os.environ.get("MULTICARD_TEST_FULL") == "1" else 15
    STEPS = 400

    def test_kills_cost_nothing(self):
        self.prepare(train=24)
        arguments = ("run", self.deck, "run.deterministic=true", "run.steps=%d" % self.STEPS, "run.global_batch=4",
                     "run.ema_decay=0.9", "evaluate.every_epochs=20", "run.log_every=1000")
        self.expect(0, run(2, *arguments, "run.output=" + self.path("whole"), "run.checkpoint_every=0"))
        dice = random.Random(20260319)
        for _ in range(self.KILLS):
            self.life((*arguments, "run.checkpoint_every=1"), dice)
        self.assertLess(self.newest(), self.STEPS)
        self.expect(0, run(2, *arguments, "run.checkpoint_every=50"))

        for name in ("model.safetensors", "optimizer.safetensors", "ema.safetensors"):
            end = "checkpoints/step_%08d/%s" % (self.STEPS, name)
            self.assertEqual(Path(self.path("out"), end).read_bytes(), Path(self.path("whole"), end).read_bytes(), name)
        for path in ("/runs/main/metrics/train_loss", "/runs/main/metrics/eval_loss"):
            self.assertEqual(self.dataset(self.path("out/results.h5"), path),
                             self.dataset(self.path("whole/results.h5"), path))
        self.assertEqual(len(self.dataset(self.path("out/results.h5"), "/runs/main/steps/step")), 2 * self.STEPS)
        self.require_no_leftovers()


class Checkpoint(CheckpointTest):
    def test_what_is_damaged_is_refused_by_name(self):
        self.prepare()
        self.expect(0, run(2, "run", self.deck, "run.checkpoint_every=2"))
        newest = Path(self.path("out/checkpoints/step_00000004"))
        older = "run.resume=" + self.path("out/checkpoints/step_00000002")
        more = ("run", self.deck, "run.epochs=2")
        for name, damage, text in (
                ("model.safetensors", lambda data: data[:-100], r"step_00000004/model\.safetensors.*bytes instead of"),
                ("optimizer.safetensors", lambda data: data[:-1] + b"\x7f", r"optimizer\.safetensors.*SHA-256"),
                ("model.safetensors", None, r"step_00000004/model\.safetensors"),
                ("trainer.json", lambda data: data[:40], r"step_00000004 has a damaged trainer\.json"),
                ("trainer.json", lambda data: data.replace(b"multicard-checkpoint", b"other"), "its SHA-256 is not")):
            whole = (newest / name).read_bytes()
            if damage:
                (newest / name).write_bytes(damage(whole))
            else:
                (newest / name).unlink()
            self.expect(4, run(2, *more), text, older)
            (newest / name).write_bytes(whole)
        self.expect(0, run(2, *more, older), "resuming from .*step_00000002")

    def test_records_that_do_not_belong_to_it_are_left_out(self):
        self.prepare()
        for output, why in (("short", "is not the file that was written with"),
                            ("gone", "is missing, which was written with")):
            folder = "run.output=" + self.path(output)
            self.expect(0, run(2, "run", self.deck, folder))
            records = Path(self.path(output + "/records/step_00000004.h5"))
            if output == "short":
                records.write_bytes(records.read_bytes()[:1000])
            else:
                records.unlink()
            self.expect(0, run(2, "run", self.deck, folder, "run.epochs=2"), "resuming from .*step_00000004",
                        r"warning: .*records/step_00000004\.h5 " + why)
            self.assertEqual(len(self.dataset(self.path(output + "/results.h5"), "/runs/main/metrics/train_loss")), 4)

    def run_on_slow_disk(self, every, *arguments):
        checks = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        slow = {**os.environ, "LD_PRELOAD": str(BIN.parent / "tests/libslow_disk.so"), "SLOW_DISK_S": "0.8",
                "ASAN_OPTIONS": checks}
        process = launch(2, "run", self.deck, "run.timeout_s=2", "run.checkpoint_every=%d" % every, *arguments,
                         env=slow)
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def test_a_run_that_diverges_while_a_slow_disk_writes_says_so(self):
        self.prepare()
        self.expect(6, self.run_on_slow_disk(1, "optimizer.learning_rate=1e30"), "the loss of step . is")

    def test_a_disk_slower_than_the_timeout_ends_no_run(self):
        self.prepare()
        self.expect(0, self.run_on_slow_disk(2))
        self.assertEqual(self.newest(), 4)
        spent = [float(seconds) for seconds in self.dataset(self.path("out/results.h5"),
                                                            "/runs/main/metrics/checkpoint_write_s")]
        self.assertGreater(min(spent), 4, "otherwise nothing was tried")

    def test_a_checkpoint_of_another_model_is_refused(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        self.expect(0, run(1, "run", self.deck, "model.width=0.35", "run.output=" + self.path("wide")))
        mine, other = (Path(self.path(folder + "/checkpoints/step_00000004")) for folder in ("out", "wide"))
        shutil.copy(other / "model.safetensors", mine / "model.safetensors")
        self.expect(4, run(1, "run", self.deck, "run.epochs=2"),
                    r"out/.*model\.safetensors has changed since it was written")
        for name in ("trainer.json", "COMPLETE"):
            shutil.copy(other / name, mine / name)
        self.expect(2, run(1, "run", self.deck, "run.epochs=2"), r"model\.width has changed from 0\.35 to 0\.25")

    def test_files_that_are_not_there_are_named_rather_than_a_changed_setting(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        for epochs, key in ((1, "data.train"), (2, "data.train"), (2, "data.test")):  # finished, and to be resumed
            wrong = "%s=%s" % (key, self.path("none*.h5"))
            _, _, err = self.expect(4, run(2, "run", self.deck, "run.epochs=%d" % epochs, wrong))
            self.assertEqual(err.count("no file matches " + self.path("none*.h5")), 1, err)
            self.assertNotIn("has changed", err)
        shutil.copy(self.path("train-00000-of-00001.h5"), self.path("other.h5"))
        self.expect(2, run(1, "run", self.deck, "run.epochs=2", "data.train=" + self.path("other.h5")),
                    r"data\.train has changed from .*other\.h5 .*Put it back")
        os.remove(self.path("train-00000-of-00001.h5"))
        self.expect(0, run(1, "run", self.deck), "finished")  # a finished run needs no files

    def test_a_full_disk_is_survived_until_the_last_checkpoint(self):
        self.small_disk("64m")
        self.prepare()
        arguments = ("run", self.deck, "run.epochs=100000", "run.checkpoint_every=20",
                     "run.output=" + self.path("small/out"))
        log = open(self.path("log"), "w+")
        self.addCleanup(log.close)
        process = subprocess.Popen(["mpirun", "-n", "2", os.environ["MULTICARD_BIN"] + "/multicard", *arguments],
                                   stdout=log, stderr=log, start_new_session=True)
        self.addCleanup(self.kill_session, process)
        wait_for(lambda: self.newest("small/out") > 0)
        filler = self.fill_disk()
        wait_for(lambda: "Earlier checkpoints are intact." in self.log_text())
        for checkpoint in self.complete("small/out"):
            require_whole(checkpoint)
        stood = self.newest("small/out")
        os.remove(filler)
        wait_for(lambda: self.newest("small/out") > stood)  # the next one succeeds

        self.fill_disk()
        process.send_signal(signal.SIGUSR1)
        process.wait(timeout=60)
        text = self.log_text()
        self.assertEqual(process.returncode, 4, text)
        self.assertRegex(text, "No space left|full")
        stood = self.newest("small/out")
        self.assertGreater(stood, 0)
        os.remove(filler)
        self.expect(75, run(2, *arguments, "run.wall_limit=3"), "resuming from .*step_%08d" % stood)

    def test_the_best_one_is_kept(self):
        self.prepare()
        self.expect(0, run(2, "run", self.deck, "run.epochs=3", "run.keep_best=true", "run.keep_checkpoints=1",
                           "run.checkpoint_every=0", "evaluate.every_steps=1"))
        results = self.path("out/results.h5")
        accuracy = [float(value) for value in self.dataset(results, "/runs/main/metrics/eval_accuracy")]
        best = json.loads(Path(self.path("out/checkpoints/BEST")).read_text())
        self.assertEqual(best, {"step": 1 + accuracy.index(max(accuracy)), "score": max(accuracy)})
        kept = {path.name for path in self.complete()}
        self.assertEqual(kept, {"step_%08d" % step for step in (best["step"], 12)})

        self.expect(0, run(2, "run", self.deck, "run.epochs=4", "run.keep_best=true", "run.keep_checkpoints=1",
                           "run.checkpoint_every=0", "evaluate.every_steps=1"), "resuming from .*step_00000012")
        accuracy = [float(value) for value in self.dataset(results, "/runs/main/metrics/eval_accuracy")]
        best = json.loads(Path(self.path("out/checkpoints/BEST")).read_text())
        self.assertEqual(best, {"step": 1 + accuracy.index(max(accuracy)), "score": max(accuracy)})

    def test_a_named_one_begins_a_run_that_a_requeue_goes_on_with(self):
        self.prepare()
        whole, named = self.path("whole"), self.path("out/checkpoints/step_00000002")
        self.expect(0, run(1, "run", self.deck, "run.epochs=2", "run.output=" + whole))
        self.expect(0, run(1, "run", self.deck, "run.checkpoint_every=2"))
        fork = ("run", self.deck, "run.output=" + self.path("fork"), "run.resume=" + named)
        self.expect(0, run(1, *fork), "resuming from %s[)]" % named)
        self.assertEqual(len(self.dataset(self.path("fork/results.h5"), "/runs/main/steps/step")), 4)
        self.expect(0, run(1, *fork), "finished")
        later = self.path("fork/checkpoints/step_00000004")
        self.expect(0, run(1, *fork, "run.epochs=2"), "resuming from %s, which this run reached from %s" %
                    (later, named))
        for metric in ("train_loss", "eval_loss"):
            path = "/runs/main/metrics/" + metric
            self.assertEqual(self.dataset(self.path("fork/results.h5"), path),
                             self.dataset(whole + "/results.h5", path))
        # Naming a later one, or one of the same folder that the run has not begun from, goes back there.
        self.expect(0, run(1, *fork[:-1], "run.resume=" + later, "run.epochs=3"), "resuming from %s[)]" % later)
        self.expect(0, run(1, "run", self.deck, "run.resume=" + named, "run.epochs=2"), "resuming from %s[)]" % named)

    def test_other_images_are_refused(self):
        self.prepare(train=8)
        shard = self.path("train-00000-of-00001.h5")
        for count, factor in ((64, 7), (64, 11), (48, 7)):
            os.remove(shard)
            self.prepare_pixels(lambda i: i * factor % 251, count)
            if factor == 7 and count == 64:
                self.expect(0, run(1, "run", self.deck))
                continue
            self.expect(2, run(1, "run", self.deck, "run.epochs=2"), r"data\.train has changed: .* not hold the data")

    def test_a_longer_run_is_told_that_its_schedule_changes(self):
        self.prepare()
        warning = r"cosine schedule ends with the run, which is now 2 epochs instead of 1 epoch.*schedule\.total_steps"
        for length, expected in ((), True), (("schedule.total_steps=4",), False):
            output = "run.output=" + self.path("to%d" % expected)
            arguments = ("run", self.deck, "schedule.name=cosine", output, *length)
            self.assertNotRegex(self.expect(0, run(1, *arguments))[2], "schedule ends")
            said = self.expect(0, run(1, *arguments, "run.epochs=2"), "resuming from")[2]
            (self.assertRegex if expected else self.assertNotRegex)(said, warning)

    def test_two_runs_do_not_share_a_folder(self):
        process = self.start_long_run()
        self.expect(2, run(1, "run", self.deck, "run.epochs=100000"),
                    r"another run is writing into .*/out \(process %d on " % ranks_of(process)[0])
        process.send_signal(signal.SIGUSR1)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, err)

    def test_the_stall_and_the_write_are_recorded(self):
        self.prepare()
        self.expect(0, run(2, "run", self.deck, "run.checkpoint_every=1"))
        results = self.path("out/results.h5")
        for name in ("checkpoint_stall_s", "checkpoint_write_s"):
            self.assertEqual(len(self.dataset(results, "/runs/main/metrics/" + name)), 4)
            self.assertTrue(all(float(value) > 0 for value in self.dataset(results, "/runs/main/metrics/" + name)))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
