#!/usr/bin/env python3
"""Hostile files, signals at bad moments, limits of the system: what the program says and leaves. Standard library only.

usage: faults_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import ctypes
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from command_test import MULTICARD, POST, CommandTest, launch, run, wait_for


def hdf5_library():
    """The HDF5 library that the programs use, by its own functions."""
    listed = subprocess.run(["ldd", POST], capture_output=True, text=True).stdout
    library = ctypes.CDLL(re.search(r"=> (\S*libhdf5\S*\.so\S*)", listed).group(1))
    number, text = ctypes.c_int64, ctypes.c_char_p
    library.H5Fopen.restype = number
    for function, arguments in (("H5Fopen", (text, ctypes.c_uint, number)), ("H5Fclose", (number,)),
                                ("H5Adelete_by_name", (number, text, text, number)),
                                ("H5Ldelete", (number, text, number)),
                                ("H5Lcreate_soft", (text, number, text, number, number)),
                                ("H5Lcreate_external", (text, text, number, text, number, number))):
        getattr(library, function).argtypes = arguments
    return library


def edit(path, change):
    """Changes an HDF5 file as another program would: change(library, file) returns what must not be negative."""
    library = hdf5_library()
    file = library.H5Fopen(os.fsencode(str(path)), 1, 0)
    assert file >= 0 and change(library, file) >= 0 and library.H5Fclose(file) >= 0, path


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

    def test_names_that_are_not_utf8_are_refused_in_decks(self):
        name = os.fsdecode(b"a\xff.h5")
        self.expect(2, run(1, "run", self.deck, "data.train=" + self.path(name)), "it is not valid UTF-8")
        Path(self.deck).write_bytes(Path(self.deck).read_bytes().replace(b"train*", b"train\xff"))
        self.expect(2, run(1, "run", self.deck), "deck.yaml:3: cannot be read as YAML .it is not valid UTF-8")

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


class Edited(CommandTest):
    """Files that another program has changed: without a checksum, but whole for libhdf5."""

    def post(self, *arguments):
        done = subprocess.run([POST, *arguments], capture_output=True, timeout=100)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def test_results_without_a_deck_are_damaged(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        edit(self.path("out/results.h5"), lambda hdf5, file: hdf5.H5Adelete_by_name(file, b"/runs/main", b"deck", 0))
        self.expect(4, run(1, "run", self.deck), r"results\.h5 is damaged \(its run has no deck\)",
                    "Move it away: the run then resumes from .*step_00000004")
        self.expect(0, self.post(self.path("out/results.h5"), "--json"))

    def test_junk_without_a_checkpoint_is_reported_with_advice(self):
        self.prepare()
        os.mkdir(self.path("out"))
        Path(self.path("out/results.h5")).write_bytes(b"junk")
        for resume in ("auto", "never"):
            self.expect(2, run(1, "run", self.deck, "run.resume=" + resume), "results.h5 was not written by multicard",
                        "Set another run.output, or move it away")
        self.assertEqual(Path(self.path("out/results.h5")).read_bytes(), b"junk")

    def test_a_sweep_that_does_not_say_how_a_run_ended_is_damaged(self):
        self.prepare()
        deck = self.path("sweep.yaml")
        Path(deck).write_text("base: deck.yaml\nrun: {output: %s}\nlimits: {steps: 6, skip_steps: 1}\n"
                              "sweep: {optimizer.learning_rate: [1.0e30, 1.0e31]}\n" % self.path("sweep"))
        self.expect(6, run(1, "sweep", deck))
        self.expect(6, run(1, "sweep", deck), "finished")
        edit(self.path("sweep/results.h5"),
             lambda hdf5, file: hdf5.H5Ldelete(file, b"/runs/0000/sweep/exit_code", 0))
        self.expect(4, run(1, "sweep", deck), "does not say with which exit code run 0000 ended")

    def test_links_in_shards_and_results_are_not_followed(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        shard, = Path(self.scratch).glob("train*.h5")
        edit(shard, lambda hdf5, file: hdf5.H5Ldelete(file, b"/labels", 0))
        edit(shard, lambda hdf5, file: hdf5.H5Lcreate_external(b"/etc/passwd", b"/labels", file, b"/labels", 0, 0))
        for ranks in (1, 2):
            self.expect(4, run(ranks, "run", self.deck, "run.resume=never"), "/labels is a link to another file")
        results = self.path("out/results.h5")
        edit(results, lambda hdf5, file: hdf5.H5Lcreate_soft(b"/runs", file, b"/runs/main/again", 0, 0))
        self.expect(4, self.post(results), "/runs/main/again is a soft link")

    def repacked(self):
        """The results of a run in HDF5's first format, which has no checksums of its own."""
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        plain = Path(self.path("plain.h5"))
        subprocess.run(["h5repack", self.path("out/results.h5"), plain], check=True)
        self.expect(0, self.post(str(plain), "--json"))
        return plain, plain.read_bytes()

    def test_a_crash_of_libhdf5_ends_with_a_message(self):
        plain, whole = self.repacked()
        # The class of an attribute's type: HDF5 1.10.8 crashes when it gives up on one that it does not know.
        head = b"command_line" + bytes(4)
        self.assertIn(head + b"\x13", whole)
        plain.write_bytes(whole.replace(head + b"\x13", head + b"\x1f", 1))
        code, _, err = self.post(str(plain), "--json")
        self.assertEqual(code, 4, err)
        self.assertRegex(err, r"is damaged \(libhdf5 crashes while it reads it: Segmentation fault\)|failed \(")
        self.expect(2, run(1, "eval", self.deck, "-o", str(plain)), "is there and not an evaluation", "is damaged")
        share = self.path("share.yaml")
        Path(share).write_text("tasks: [{name: a, deck: deck.yaml, steps: 2}]\nrun: {output: %s}\n" % self.path("out2"))
        os.mkdir(self.path("out2"))
        plain.rename(self.path("out2/results.h5"))
        self.expect(4, run(1, "share", share), "results.h5 is damaged", "Move it away")

    def test_changed_bytes_without_a_checksum_end_with_a_message(self):
        plain, whole = self.repacked()
        generator = random.Random(5)
        for _ in range(60):
            damaged = bytearray(whole)
            for _ in range(20):
                damaged[generator.randrange(len(whole))] = generator.randrange(256)
            plain.write_bytes(damaged)
            code, _, err = self.post(str(plain), "--json")
            self.assertIn(code, (0, 4), err)
            self.assertNotIn("defect", err)


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
        enough = 40  # a run of one rank needs about 20, more or fewer as threads that have ended are counted still
        for limit in (*range(10, 20), enough):
            arguments = ["setpriv", "--reuid=65533", "--clear-groups", "--inh-caps=" + rights,
                         "--ambient-caps=" + rights, "bash", "-c", 'ulimit -u "$0"; exec "$@"', str(limit), MULTICARD,
                         "run", self.deck,
                         "run.resume=never", "data.workers=4", "run.output=" + self.path("limit%d" % limit)]
            done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
            codes[limit] = done.returncode
            self.assertIn(done.returncode, (0, 3), done.stderr)
            if done.returncode == 3:
                self.assertRegex(done.stderr, "cannot be started|could not be initialised|threads")
        self.assertIn(3, codes.values())
        self.assertEqual(codes[enough], 0)

    def test_a_run_that_can_never_fit_is_refused_soon(self):
        """In processor seconds, so that a busy machine does not matter."""
        self.prepare()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.expect(3, run(1, "run", self.deck, "data.image_size=4096", "run.global_batch=64", "model.width=1"),
                    r"this run would need (at least )?[\d.]+ [GT]B per rank .* available per rank\) "
                    "(Set run.micro_batch|Lower)")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertLess(after.ru_utime - before.ru_utime, 2.5)


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

    def test_what_a_killed_self_test_leaves_is_removed_by_the_next(self):
        os.mkdir(self.path("work"))
        process = launch(1, "info", "--selftest", cwd=self.path("work"))
        wait_for(lambda: list(Path(self.path("work")).glob("**/*.h5*")) or
                 list(Path(self.path("work")).glob("**/.*.part")))
        process.kill()
        process.communicate(timeout=60)
        self.assertTrue(os.listdir(self.path("work")))
        done = subprocess.run([MULTICARD, "info", "--selftest"], cwd=self.path("work"), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.listdir(self.path("work")), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
