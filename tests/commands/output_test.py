#!/usr/bin/env python3
"""Output that cannot be written: standard output and error, files beyond a limit, a report that is interrupted.
Standard library only.

usage: output_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import hashlib
import os
import resource
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from command_test import BIN, MULTICARD, POST, CommandTest, run

ROOT = Path(__file__).resolve().parents[2]
TINYSTORIES = str(ROOT / "tests" / "data" / "models" / "tinystories-656K")
PLAN = str(ROOT / "inputs" / "plan" / "example.yaml")


def shell(command, words, lines="", **options):
    """Runs `command` of bash, in which "$@" is the program and its arguments."""
    done = subprocess.run(["bash", "-c", command, "bash", *words], input=lines, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, timeout=120, **options)
    return done.returncode, "", done.stderr


def limited(kilobytes):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes << 10, kilobytes << 10))
    return limit


def temporaries(folder):
    return [str(path) for path in Path(folder).rglob(".*.part")]


class Output(CommandTest):
    def trained(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck, "run.epochs=1"))
        return self.path("out/results.h5")

    def commands(self):
        """What prints to standard output, each with its standard input."""
        results, tokens = self.trained(), '"a b"\n"c"\n'
        return [([MULTICARD, "--version"], ""), ([MULTICARD, "help", "keys"], ""), ([MULTICARD, "run", "--help"], ""),
                ([MULTICARD, "run", self.deck, "--print-config"], ""), ([MULTICARD, "eval", self.deck, "--json"], ""),
                ([MULTICARD, "plan", PLAN, "--json"], ""), ([MULTICARD, "info"], ""),
                ([MULTICARD, "info", "--json"], ""), ([MULTICARD, "tokenize", TINYSTORIES], tokens),
                ([MULTICARD, "generate", TINYSTORIES, "Once", "--raw", "--max-new", "3"], ""),
                ([MULTICARD, "generate", TINYSTORIES, "Once", "--raw", "--max-new", "3", "--json"], ""),
                ([POST, "--help"], ""), ([POST, results, "--csv"], ""), ([POST, results, "--json"], ""),
                ([POST, results, "-o", self.path("report")], "")]

    def test_a_full_standard_output_is_4(self):
        for words, lines in self.commands():
            with self.subTest(" ".join(words)):
                self.expect(4, shell('"$@" >/dev/full', words, lines), "standard output cannot be written .*No space")

    def test_a_disk_that_fails_while_a_file_is_closed_is_4(self):
        """libhdf5 cannot close such a file, and would end the program by a signal later."""
        self.prepare()
        self.expect(0, run(1, "run", self.deck, "run.epochs=1"))
        words = {"prepare": ["prepare", "images", "--format", "synthetic", "--size", "32", "--limit", "64", "-o",
                             self.path("new")],
                 "eval": ["eval", self.deck, "-o", self.path("eval.h5")]}
        failed = 0
        for name, command in words.items():
            for first in (1, 3, 5, 7, 9):
                bad = {**os.environ, "LD_PRELOAD": str(BIN.parent / "tests/libslow_disk.so"),
                       "BAD_DISK_FROM": str(first),
                       "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
                done = subprocess.run([MULTICARD, *command], env=bad, capture_output=True, text=True, timeout=60)
                self.assertIn(done.returncode, (0, 4), "%s from %d on: %s" % (name, first, done.stderr))
                failed += done.returncode == 4
                self.assertEqual(list(Path(self.scratch).glob(".*.part")), [])
                for file in (*Path(self.scratch).glob("new-*"), *Path(self.scratch).glob("eval.h5")):
                    self.assertEqual(done.returncode, 0, file)
                    file.unlink()
        self.assertGreater(failed, 4)

    def test_a_closed_standard_output_is_4_and_a_closed_pipe_is_quiet(self):
        for words, lines in (([MULTICARD, "help", "keys"], ""), ([MULTICARD, "tokenize", TINYSTORIES], '"a"\n"b"\n'),
                             ([POST, "--help"], "")):
            with self.subTest(" ".join(words)):
                self.expect(4, shell('"$@" >&-', words, lines), "standard output cannot be written .*Bad file")
                code, _, err = shell('"$@" | (exec <&-; sleep 0.1); exit ${PIPESTATUS[0]}', words, lines)
                self.assertIn(code, (0, 128 + signal.SIGPIPE), err)  # 0: it was faster
                self.assertNotIn("multicard:", err)

    def test_a_closed_pipe_is_an_error_where_the_signal_is_ignored(self):
        words = [MULTICARD, "help", "keys"]
        self.expect(4, shell('trap "" PIPE; "$@" | (exec <&-; sleep 0.5); exit ${PIPESTATUS[0]}', words),
                    "Broken pipe")

    def test_a_standard_error_that_takes_nothing_ends_nothing(self):
        results = self.trained()
        for target in ("2>&-", "2>/dev/full", ">&- 2>&- <&-", "2> >(exec <&-)"):
            self.expect(0, shell('"$@" ' + target, [MULTICARD, "run", self.deck, "run.resume=never"]))
            self.expect(4, shell('"$@" ' + target, [POST, self.path("none.h5")]))
        self.assertEqual(self.runs(results)[0]["status"], "complete")

    def test_a_limit_on_the_size_of_files_is_told_and_leaves_nothing(self):
        results = self.trained()
        self.expect(4, shell('"$@"', [POST, results, "-o", self.path("report")], preexec_fn=limited(8)),
                    r"cannot (be written|write).*File too large.*ulimit -f")
        self.assertEqual(temporaries(self.path("report")), [])
        limit_rank = ["mpirun", "-n", "2", "bash", "-c", 'ulimit -f 64; exec "$@"', "bash", MULTICARD, "run"]
        self.expect(4, shell('"$@"', [*limit_rank, self.deck, "run.output=" + self.path("small")]),
                    "File too large.*ulimit -f")
        self.assertEqual(temporaries(self.path("small")), [])

    def test_too_many_open_files_are_the_environments(self):
        self.expect(0, run(1, "prepare", "images", "--format", "synthetic", "--size", "32", "--classes", "4",
                           "--limit", "64", "--shards", "40", "-o", self.path("train")))

        def few_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (48, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

        self.expect(3, run(1, "run", self.deck, "data.test=null", preexec_fn=few_files), "ulimit -n")

    def test_an_interrupted_report_leaves_no_temporary_files(self):
        results = self.trained()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            for delay in (0.05, 0.3):
                process = subprocess.Popen([POST, results, "-o", self.path("report")], stdout=subprocess.DEVNULL,
                                           stderr=subprocess.PIPE)
                time.sleep(delay)
                process.send_signal(number)
                process.communicate(timeout=10)
                self.assertIn(process.returncode, (0, 128 + number, -number))
                self.assertEqual(temporaries(self.path("report")), [])

    def test_a_crash_of_libhdf5_under_a_right_checksum_ends_with_a_message(self):
        plain = Path(self.path("plain.h5"))
        subprocess.run(["h5repack", self.trained(), plain], check=True)
        # The class of an attribute's type, as in commands/Edited.
        head = b"command_line" + bytes(4)
        damaged = plain.read_bytes().replace(head + b"\x13", head + b"\x1f", 1)
        plain.write_bytes(damaged + hashlib.sha256(damaged).digest() + b"\x8amulticard-seal\n")
        message = r"plain\.h5 is damaged \(libhdf5 crashes|plain\.h5: .* failed \("
        done = subprocess.run([POST, str(plain), "--json"], capture_output=True, text=True, timeout=60)
        self.expect(4, (done.returncode, done.stdout, done.stderr), message)
        deck = Path(self.path("plan.yaml"))
        deck.write_text("machine: {gpus: 2}\ntasks: [{name: a, results: %s, work: 10}]\n" % plain)
        self.expect(4, run(1, "plan", str(deck), "--json"), message)


if __name__ == "__main__":
    unittest.main(defaultTest=sys.argv[1:2] or None, argv=sys.argv[:1])
