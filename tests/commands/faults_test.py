#!/usr/bin/env python3
"""Hostile files, signals at bad moments, limits of the system: what the program says and leaves. Standard library only.

usage: faults_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import os
import resource
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from command_test import MULTICARD, POST, CommandTest, launch, run, wait_for


def bomb(levels):
    """YAML whose aliases expand to 9 ** levels values."""
    lines = ["a0: &a0 [l, l, l, l, l, l, l, l, l]"]
    for level in range(1, levels):
        lines.append("a%d: &a%d [%s]" % (level, level, ", ".join(["*a%d" % (level - 1)] * 9)))
    return "\n".join(lines) + "\n"


class Files(CommandTest):
    def post(self, *arguments):
        done = subprocess.run([POST, *arguments], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def test_a_deck_of_aliases_of_aliases_is_refused_at_once(self):
        Path(self.deck).write_text(bomb(10))
        start = time.time()
        self.expect(2, run(1, "run", self.deck), "more than 20,000 values")
        self.assertLess(time.time() - start, 10)

    def test_a_huge_value_is_not_shown_whole(self):
        text = Path(self.deck).read_text() + "x: " + "y" * 3_000_000 + "\n"
        Path(self.deck).write_text(text)
        _, _, err = self.expect(2, run(1, "run", self.deck))
        self.assertLess(len(err), 10_000)

    def test_only_regular_files_are_opened(self):
        self.prepare()
        os.symlink("loop.h5", self.path("loop.h5"))
        os.mkfifo(self.path("pipe.h5"))
        os.mkdir(self.path("folder"))
        os.mkfifo(self.path("folder/tokenizer.json"))
        for name, why in (("loop.h5", "Too many levels of symbolic links"), ("pipe.h5", "it is a pipe")):
            path = self.path(name)
            self.expect(4, run(2, "run", self.deck, "data.train=" + path), why)
            self.expect(2, run(1, "run", path), why)
            self.expect(4, self.post(path), why)
            self.expect(4, run(1, "run", self.deck, "model.weights=" + path), why)
            self.expect(4, run(1, "prepare", "images", "--format", "idx", "--images", path, "--labels", path, "-o",
                               self.path("new")), why)
        self.expect(4, run(1, "tokenize", self.path("folder")), "it is a pipe")

    def test_a_file_that_may_not_be_read_is_called_that(self):
        if os.getuid() != 0:
            self.skipTest("only root can take its own rights over files away")
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        weights = next(Path(self.path("out/checkpoints")).glob("step_*")) / "model.safetensors"
        foreign = Path(self.path("foreign.safetensors"))
        foreign.write_bytes(weights.read_bytes())
        rights = "-dac_override,-dac_read_search"
        for path, key in ((foreign, "model.weights"), (weights.parent / "trainer.json", "run.resume")):
            os.chown(path, 65534, 65534)
            path.chmod(0)
            value = str(path.parent if key == "run.resume" else path)
            done = subprocess.run(["setpriv", "--bounding-set=" + rights, "--inh-caps=" + rights, MULTICARD, "run",
                                   self.deck, "run.output=" + self.path("other"), "%s=%s" % (key, value)],
                                  capture_output=True, text=True, timeout=60)
            _, _, err = self.expect(4, (done.returncode, done.stdout, done.stderr), "Permission denied")
            self.assertNotIn("written or removed", err)

    def test_a_link_that_leads_nowhere_is_not_called_a_defect(self):
        self.prepare()
        os.symlink("loop", self.path("loop"))
        self.expect(4, run(1, "run", self.deck, "run.resume=" + self.path("loop")), "loop")

    def test_a_changed_byte_of_a_results_file_is_told(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        results = Path(self.path("out/results.h5"))
        whole = results.read_bytes()
        for at in range(0, len(whole) - 48, len(whole) // 40):
            results.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
            self.expect(4, self.post(str(results)), "is damaged")
        results.write_bytes(whole)
        self.assertEqual(self.post(str(results), "--json")[0], 0)

    def test_a_damaged_results_file_is_moved_away_to_resume(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        Path(self.path("out/results.h5")).write_bytes(b"junk")
        self.expect(4, run(1, "run", self.deck, "run.epochs=2"), "Move it away: the run then resumes from .*step_0")
        os.remove(self.path("out/results.h5"))
        self.expect(0, run(1, "run", self.deck, "run.epochs=2"), "step_00000004")
        self.assertEqual(self.runs(self.path("out/results.h5"))[0]["steps"], "8")


class Limits(CommandTest):
    def test_threads_that_cannot_be_started_are_an_error_of_the_environment(self):
        self.prepare()

        def little_address_space():
            resource.setrlimit(resource.RLIMIT_AS, (2_500 << 20, 2_500 << 20))

        process = launch(1, "run", self.deck, "data.workers=400", preexec_fn=little_address_space)
        out, err = process.communicate(timeout=120)
        self.expect(3, (process.returncode, out, err), "cannot be started", "Lower data.workers")


    def test_a_limit_of_processes_is_an_error_of_the_environment(self):
        """Whichever thread is the first that cannot be started: of the loader, of OpenMP, of the evaluation."""
        if os.getuid() != 0:
            self.skipTest("a user with rights to read everything has to be made")
        self.prepare()
        os.chmod(self.scratch, 0o777)
        rights = "+dac_read_search,+dac_override"
        codes = {}
        for limit in range(10, 20):
            arguments = ["setpriv", "--reuid=65533", "--clear-groups", "--inh-caps=" + rights,
                         "--ambient-caps=" + rights, "bash", "-c", 'ulimit -u "$0"; exec "$@"', str(limit), MULTICARD, "run", self.deck,
                         "run.resume=never", "data.workers=4", "run.output=" + self.path("limit%d" % limit)]
            done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
            codes[limit] = done.returncode
            self.assertIn(done.returncode, (0, 3), done.stderr)
            if done.returncode == 3:
                self.assertRegex(done.stderr, "cannot be started|could not be initialised|threads")
        self.assertIn(3, codes.values())
        self.assertIn(0, codes.values())


class Signals(CommandTest):
    def test_a_signal_while_the_program_starts_waits_for_the_run(self):
        self.prepare()
        for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP):
            process = launch(1, "run", self.deck, "run.epochs=1000", "run.resume=never")
            time.sleep(0.02)
            wait_for(lambda: self.holds_signals(process.pid))
            process.send_signal(number)
            out, err = process.communicate(timeout=120)
            self.expect(75, (process.returncode, out, err), "stopped")
            self.assertTrue(list(Path(self.path("out/checkpoints")).glob("step_*/COMPLETE")))

    @staticmethod
    def holds_signals(pid):
        """Whether the process blocks SIGTERM: it does from its first moment until it can act on it."""
        for line in Path("/proc/%d/status" % pid).read_text().splitlines():
            if line.startswith("SigBlk:"):
                return bool(int(line.split()[1], 16) & 1 << (signal.SIGTERM - 1))
        return False

    def start_prepare(self):
        process = launch(1, "prepare", "images", "--format", "synthetic", "--limit", "200000", "--size", "64",
                         "--classes", "4", "--shards", "2", "-o", self.path("big/b"))
        self.addCleanup(process.kill)
        wait_for(lambda: list(Path(self.path("big")).glob(".b-*.part")))
        return process

    def test_a_hung_up_prepare_leaves_nothing(self):
        process = self.start_prepare()
        process.send_signal(signal.SIGHUP)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGHUP, err)
        self.assertEqual(list(Path(self.path("big")).iterdir()), [])

    def test_what_a_killed_prepare_leaves_is_removed_by_the_next(self):
        process = self.start_prepare()
        process.kill()
        process.communicate(timeout=60)
        self.assertTrue(list(Path(self.path("big")).glob(".b-*.part")))
        self.expect(0, run(1, "prepare", "images", "--format", "synthetic", "--limit", "64", "--size", "32",
                           "--classes", "4", "--shards", "3", "-o", self.path("big/b")))
        self.assertEqual(sorted(path.name for path in Path(self.path("big")).iterdir()),
                         ["b-0000%d-of-00003.h5" % shard for shard in range(3)])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
