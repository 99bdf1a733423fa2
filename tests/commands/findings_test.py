#!/usr/bin/env python3
"""Causes that make a run slow, injected into runs on CPU ranks: each is found, alone, by the run and by the report.
Standard library only.

usage: findings_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

from command_test import BIN, POST, CommandTest, launch, ranks_of, wait_for

SLOW_DISK = str(BIN.parent / "tests/libslow_disk.so")
# One try may show what else the machine does.
TRIES = 3


def keep_others_out(priority):
    """Of this thread and what it starts: real-time priority, so that other programs do not take the cores, which is a
    finding too. Returns whether that is allowed."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(priority))
        return True
    except PermissionError:
        return False


class Findings(CommandTest):
    def train(self, steps, *overrides, environment=None, disturb=None, cores=None):
        """Trains on two ranks; returns {id: finding} of the report, after comparing them with the run's own lines.
        `disturb(pids)` is called again and again while it runs; `cores` are those that the ranks may use, and share
        with others."""
        def prepare_rank():
            if cores:
                os.sched_setaffinity(0, cores)
            else:
                keep_others_out(1)
        process = launch(2, "run", self.deck, "run.epochs=null", "run.steps=%d" % steps, "run.resume=never",
                         "run.checkpoint_every=0", "evaluate.every_epochs=0", "data.test=null", *overrides,
                         env={**os.environ, **(environment or {})}, preexec_fn=prepare_rank)
        stop = threading.Event()
        thread = threading.Thread(target=self.keep_disturbing, args=(process, disturb, stop))
        if disturb:
            thread.start()
        try:
            out, err = process.communicate(timeout=120)
        finally:
            stop.set()
            if disturb:
                thread.join()
        self.expect(0, (process.returncode, out, err))
        done = subprocess.run([POST, self.path("out/results.h5"), "--json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)["studies"][0]["findings"]
        lines = [line.partition("finding     ")[2] for line in err.splitlines() if "finding     " in line]
        self.assertEqual(lines, [finding["text"] for finding in found])
        return {finding["id"]: finding for finding in found}

    @staticmethod
    def keep_disturbing(process, disturb, stop):
        keep_others_out(2)
        wait_for(lambda: len(ranks_of(process)) == 2 or process.poll() is not None)
        ranks = ranks_of(process)
        while not stop.is_set():
            try:
                disturb(ranks)
            except (ProcessLookupError, IndexError):  # it has ended
                return

    @staticmethod
    def is_real_time():
        """Whether keep_others_out() is allowed."""
        allowed = []
        thread = threading.Thread(target=lambda: allowed.append(keep_others_out(1)))
        thread.start()
        thread.join()
        return allowed[0]

    def expect_alone(self, expected, *arguments, **options):
        """Returns the finding, the only one of a run; None where a healthy run has none."""
        for _ in range(TRIES):
            found = self.train(*arguments, **options)
            if set(found) == ({expected} if expected else set()):
                return found.get(expected)
        if "oversubscribed" in found and not self.is_real_time():
            self.skipTest("other programs use the cores")
        self.fail("instead of %s alone: %s" % (expected, [finding["text"] for finding in found.values()]))

    def test_a_healthy_run_has_none(self):
        self.prepare(train=256)
        self.expect_alone(None, 60, "run.global_batch=64")

    def test_a_rank_that_is_stopped_again_and_again_is_a_straggler(self):
        def stop_for_a_moment(ranks):
            # For half of the time, in parts shorter than a step: all steps are slowed down alike.
            os.kill(ranks[1], signal.SIGSTOP)
            time.sleep(0.002)
            os.kill(ranks[1], signal.SIGCONT)
            time.sleep(0.002)
        self.prepare(train=256)
        finding = self.expect_alone("straggler", 60, "run.global_batch=64", disturb=stop_for_a_moment)
        self.assertGreater(finding["numbers"]["slowness"], 1.3)
        self.assertGreater(finding["numbers"]["share"], 0.2)
        # Statistics of batch norm are waited for within forward and backward, some hundred times a step: in each of
        # them another rank may be the last, so that all ranks also wait for transfers.
        found = self.train(60, "run.global_batch=64", "parallel.sync_batch_norm=true", disturb=stop_for_a_moment)
        self.assertIn("straggler", found)
        self.assertGreater(found["straggler"]["numbers"]["share"], 0.1)

    def test_large_images_without_workers_make_steps_wait_for_data(self):
        self.copy_shards("train", {}, 1, "images", "--format", "synthetic", "--size", "512", "--classes", "4",
                         "--limit", "64")
        finding = self.expect_alone("input_bound", 30, "model.width=0.05", "data.workers=0", "run.global_batch=64")
        self.assertEqual(finding["setting"], "data.workers")
        self.assertGreater(finding["numbers"]["share"], 0.1)

    def test_a_storage_that_answers_slowly_is_named(self):
        self.prepare(train=256)
        slow = {"LD_PRELOAD": SLOW_DISK, "SLOW_READ_S": "0.02"}
        finding = self.expect_alone("slow_storage", 30, "data.read=pread", "data.workers=1", environment=slow)
        self.assertEqual(finding["setting"], "data.cache")
        self.assertGreater(finding["numbers"]["row_ms"], 1)

    def test_small_buckets_are_named(self):
        self.prepare(train=256)
        finding = self.expect_alone("small_buckets", 40, "parallel.bucket_mb=0.001", "parallel.overlap=false",
                                    "run.global_batch=4", "model.width=0.05")
        self.assertEqual(finding["setting"], "parallel.bucket_mb")
        self.assertGreater(finding["numbers"]["calls_per_step"], 50)

    def test_ranks_that_share_a_core_wait_for_it(self):
        self.prepare(train=256)
        core = {min(os.sched_getaffinity(0))}
        finding = self.expect_alone("oversubscribed", 30, "run.global_batch=64", cores=core)
        self.assertGreater(finding["numbers"]["share"], 0.2)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
