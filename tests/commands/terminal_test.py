#!/usr/bin/env python3
"""What a person sees on a terminal: the live line, the width of lines, wrong words, the end of a run that fails.

usage: terminal_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import termios
import time
import unittest
from pathlib import Path

from command_test import MULTICARD, CommandTest, launch, run, wait_for

ERASE = "\r\x1b[K"  # what begins a line that rewrites itself


class OnTerminal:
    """Programs on a terminal of their own."""

    def __init__(self, columns, command, **environment):
        self.leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower,
                                        start_new_session=True, env={**os.environ, "TERM": "xterm", **environment},
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))  # for Ctrl-C
        os.close(follower)
        self.shown = ""

    def read(self):
        """Reads what is there; False at the end."""
        try:
            piece = os.read(self.leader, 65536)
        except OSError:
            return False
        self.shown += piece.decode(errors="replace")
        return bool(piece)

    def read_until(self, pattern, seconds=60):
        end = time.time() + seconds
        while not re.search(pattern, self.shown):
            if time.time() > end or not self.read():
                raise AssertionError("%s has not been shown:\n%s" % (pattern, self.shown))

    def finish(self):
        """Returns the exit code and the lines, as they would stand without their rewriting."""
        while self.read():
            pass
        os.close(self.leader)
        return self.process.wait(), re.split(r"\r?\n|" + re.escape(ERASE), self.shown)


def mpirun(ranks, *words):
    return ["mpirun", "-n", str(ranks), *words]


class Live(CommandTest):
    def show(self, columns, command, **environment):
        terminal = OnTerminal(columns, command, **environment)
        code, lines = terminal.finish()
        self.assertEqual(code, 0, terminal.shown)
        return terminal.shown, lines

    def deck_of(self, epochs):
        return ["run", self.deck, "run.resume=never", "run.epochs=%d" % epochs]

    def test_under_mpirun_the_line_rewrites_itself_and_fits(self):
        self.prepare()
        order = ("comm", "mem", "epoch", "ms", "data")
        for columns, shown_fields in ((60, 0), (80, 2), (120, 5), (200, 5)):
            shown, lines = self.show(columns, mpirun(2, MULTICARD, *self.deck_of(6)))
            live = [line for line in lines if line.startswith("epoch ") or line.startswith("step ")]
            self.assertGreater(shown.count(ERASE), 1, shown)
            self.assertTrue(live, shown)
            words = [line for line in lines if "/" not in line]  # a path may be longer than a line
            self.assertEqual([line for line in words if len(line) > columns], [])
            for number, field in enumerate(order):
                self.assertEqual(field in live[-1].split(), number < shown_fields, live[-1])
            places = {tuple(line.index(text) for text in ("loss", "img/s", " left")) for line in live}
            self.assertEqual(len(places), 1, live)
            self.assertRegex(shown, r"batch +16 rows, 4 steps per epoch, 24 steps in total")
            self.assertRegex(live[-1], r"step +24/24 ")

    def sweep_deck(self, axes="{ranks: [1, 2], precision: [fp32, fp64]}", steps=4):
        sweep = Path(self.path("sweep.yaml"))
        sweep.write_text("base: deck.yaml\nrun: {output: %s, resume: never}\nlimits: {steps: %d, skip_steps: 1}\n"
                         "sweep: %s\n" % (self.path("out"), steps, axes))
        return str(sweep)

    def test_a_sweeps_lines_fit(self):
        self.prepare()
        for columns, text in ((80, " img/s, "), (100, " img/s, "),
                              (200, r" ms per step \(data .*\d runs? left, about ")):
            shown, lines = self.show(columns, mpirun(2, MULTICARD, "sweep", self.sweep_deck()))
            stand = self.standing(shown)
            closing = [line for line in stand if re.match(r"\[\d/4\] ", line)]
            self.assertEqual(len(closing), 4, stand)
            self.assertRegex(closing[0], text)
            self.assertEqual([line for line in lines if len(line) > columns and "/" not in line.split(" ")[-1]], [])
            self.assertEqual([line for line in stand if line.startswith("       ")], [])  # nothing is continued

    def test_a_sweeps_line_that_is_too_long_wraps_after_the_label(self):
        self.prepare()
        deck = self.sweep_deck("{ranks: [2], data.image_size: [32], parallel.overlap: [true], "
                               "parallel.strategy: [dp, ddp-ds], optimizer.momentum: [0.9]}")
        for columns in (80, 100):
            stand = self.standing(self.show(columns, mpirun(2, MULTICARD, "sweep", deck))[0])
            first = next(i for i, line in enumerate(stand) if line.startswith("[1/2] "))
            self.assertRegex(stand[first], r"  strategy dp$")
            self.assertRegex(stand[first + 1], r"^ {12}[\d.]+ img/s, [\d.]+ ms per step.*; 1 run left, about")

    @staticmethod
    def standing(shown):
        """The lines that stay on the terminal."""
        return [line.split(ERASE)[-1] for line in re.split(r"\r?\n", shown)]

    def test_a_sweep_shows_the_run_under_way_and_leaves_its_closing_line_alone(self):
        self.prepare()
        for ranks in (1, 2):
            deck = self.sweep_deck("{ranks: [%d], precision: [fp32, fp64]}" % ranks, steps=30)
            shown, _ = self.show(80, mpirun(ranks, MULTICARD, "sweep", deck))
            rewritten = re.findall(re.escape(ERASE) + r"([^\r\n]*)", shown)
            for variant, name in (("[1/2]", "0000"), ("[2/2]", "0001")):
                head = "%s %s  " % (variant, name)
                self.assertTrue(any(line.startswith(head) and line.endswith("starting") for line in rewritten), shown)
                self.assertTrue(any(re.match(re.escape(head) + r"(epoch \d+/\d+  )?step +\d+/30  loss .* left", line)
                                    for line in rewritten), shown)
            stand = self.standing(shown)
            self.assertEqual(len([line for line in stand if re.match(r"\[\d/2\] ", line)]), 2, stand)
            self.assertEqual([line for line in stand if re.search("step +\\d+/|starting", line)], [])

    def test_a_failure_takes_the_place_of_the_live_line(self):
        self.prepare()
        deck = self.sweep_deck("{optimizer.learning_rate: [1.0e+30, 0.005]}")
        stand = self.standing(self.show(100, mpirun(2, MULTICARD, "sweep", deck))[0])
        failed = r"\[1/2\] 0000  ranks 2  learning_rate 1.0e\+30  failed: "
        self.assertTrue(any(re.match(failed, line) for line in stand), stand)
        self.assertEqual([line for line in stand if re.search("step +\\d+/|starting", line)], [])

    def test_a_sweeps_log_has_a_line_for_each_run_alone(self):
        self.prepare()
        for words, mode, is_live in (((), "auto", False), ((), "plain", False), ((), "live", True), ((), "off", False),
                                     (("--quiet",), "live", False)):
            environment = dict(os.environ, MULTICARD_PROGRESS=mode)
            done = subprocess.run([MULTICARD, "sweep", self.sweep_deck("{precision: [fp32, fp64]}"), *words],
                                  capture_output=True, text=True, env=environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("\x1b[K[1/2] 0000  " in done.stderr, is_live, done.stderr)
            if not is_live:
                self.assertNotRegex(done.stderr, "step +\\d+/|\r|\x1b|starting")
            if not words:
                self.assertEqual(done.stderr.count("ms per step (data "), 2, done.stderr)

    def test_a_file_gets_plain_lines_whatever_mpiruns_output_is(self):
        self.prepare()
        for redirected in ('2>"$0"', '2>&1 | cat >"$0"'):
            command = "mpirun -n 2 %s run %s run.resume=never %s" % (MULTICARD, self.deck, redirected)
            shown, _ = self.show(80, ["bash", "-c", command, self.path("log")])
            log = Path(self.path("log")).read_text()
            self.assertNotRegex(log, "[\x1b\r]")
            self.assertRegex(log, r"(?m)^epoch 1/1  step 4/4 .* left  comm")
            self.assertNotIn(ERASE, shown)

    def test_a_shares_line_fits(self):
        self.prepare()
        share = Path(self.path("share.yaml"))
        share.write_text("tasks:\n  - {name: first, deck: deck.yaml, epochs: 40}\n"
                         "  - {name: second, deck: deck.yaml, epochs: 40, overrides: {run.seed: 4}}\n"
                         "policy: {name: equal, interval_s: 1}\nrun: {output: %s}\n" % self.path("share"))
        for columns, text in ((60, "first"), (200, r"first 1 rank, [\d.]+ steps/s, .* next decision in")):
            shown, _ = self.show(columns, mpirun(2, MULTICARD, "share", str(share), "run.resume=never"))
            rewritten = re.findall(re.escape(ERASE) + r"([^\r\n\x1b]*)", shown)
            live = [line for line in rewritten if re.match(r"(first|second) \d", line)]
            self.assertTrue(any(re.match(text, line) for line in live), shown)
            self.assertEqual([line for line in live if len(line) >= columns], [])

    def test_colours_set_off_warnings_and_errors_on_terminals_alone(self):
        self.prepare()
        words = ["taskset", "-c", "0", MULTICARD, *self.deck_of(1)]
        warned = dict(OMP_NUM_THREADS="2")
        self.assertIn("\x1b[33mwarning: \x1b[0m", self.show(80, words, **warned)[0])
        self.assertNotIn("\x1b[33m", self.show(80, words, NO_COLOR="1", **warned)[0])
        self.assertNotIn("\x1b", self.show(80, words, TERM="dumb", **warned)[0])
        piped = subprocess.run(words, capture_output=True, text=True, env=dict(os.environ, **warned))
        self.assertRegex(piped.stderr, "(?m)^warning: ")
        terminal = OnTerminal(80, [MULTICARD, "run", self.path("none.yaml")])
        self.assertEqual(terminal.finish()[0], 2)
        self.assertIn("\x1b[31mmulticard: \x1b[0mdeck ", terminal.shown)

    def test_a_warning_of_every_run_of_a_sweep_is_said_once(self):
        self.prepare()
        command = ["taskset", "-c", "0", MULTICARD, "sweep", self.sweep_deck("{precision: [fp32, fp64]}")]
        done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, OMP_NUM_THREADS="2"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLessEqual(done.stderr.count("2 compute threads share 1 processor"), 1, done.stderr)

    def test_labelled_lines_are_plain(self):
        self.prepare()
        shown, _ = self.show(80, ["mpirun", "--tag-output", "-n", "2", MULTICARD, *self.deck_of(1)])
        self.assertNotIn("\x1b", shown)

    def test_the_variable_decides(self):
        self.prepare()
        self.assertNotIn("\x1b", self.show(80, [MULTICARD, *self.deck_of(1)], MULTICARD_PROGRESS="plain")[0])
        shown = self.show(80, [MULTICARD, *self.deck_of(1)], MULTICARD_PROGRESS="off")[0]
        self.assertNotRegex(shown, r"step +\d+/4")
        self.assertIn("accuracy", shown)
        environment = dict(os.environ, MULTICARD_PROGRESS="live")
        piped = subprocess.run([MULTICARD, *self.deck_of(1)], capture_output=True, text=True, env=environment)
        self.assertIn("\x1b[K", piped.stderr)
        environment["MULTICARD_PROGRESS"] = "lively"
        wrong = subprocess.run(mpirun(2, MULTICARD, *self.deck_of(1)), capture_output=True, text=True, env=environment)
        self.assertEqual(wrong.returncode, 2)
        self.assertEqual(wrong.stderr.count("MULTICARD_PROGRESS is 'lively'"), 1, wrong.stderr)

    def test_steps_are_counted_alike_everywhere(self):
        self.prepare()
        _, _, err = self.expect(0, run(1, "run", self.deck, "run.steps=3", "evaluate.at_start=true"))
        self.assertRegex(err, r"epoch 1/1  step 3/3 .*  0 s left")
        self.assertRegex(err, r"test +before step 1: accuracy")
        self.assertRegex(err, r"test +step 3, epoch 1/1: accuracy")
        self.assertRegex(err, r"train loss +[\d.]+ of step 3\n")
        self.assertRegex(err, r"accuracy +[\d.]+ after 3 steps")
        self.assertRegex(err, r"memory +predicted .*tensors only")


class Machine(CommandTest):
    """What a run says of the processors and GPUs that there are not."""

    def test_no_gpu_is_one_line_where_the_program_could_choose(self):
        if shutil.which("nvidia-smi"):
            self.skipTest("this machine has a GPU")
        self.prepare()
        _, _, err = self.expect(0, run(2, "run", self.deck, "--dry-run"))
        self.assertEqual(err.count("no GPU found"), 1, err)
        self.assertEqual(err.count("GPU"), 1, err)
        _, _, err = self.expect(0, run(2, "run", self.deck, "run.device=cpu", "--dry-run"))
        self.assertNotIn("GPU", err)

    def test_more_compute_threads_than_processors_are_said(self):
        self.prepare()
        one = {min(os.sched_getaffinity(0))}
        for ranks, threads, is_said in ((1, 1, False), (2, 1, True), (1, 2, True)):
            environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
            done = subprocess.run(mpirun(ranks, MULTICARD, "run", self.deck, "--dry-run"), capture_output=True,
                                  text=True, env=environment, preexec_fn=lambda: os.sched_setaffinity(0, one))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("warning: 2 compute threads share 1 processor:" in done.stderr, is_said, done.stderr)


class Words(CommandTest):
    def test_help_and_version_in_every_usual_way(self):
        for words in (["help"], ["--help"], ["-h"]):
            self.assertIn("sweep", self.expect(0, run(1, *words))[1])
        self.assertIn("--print-config", self.expect(0, run(1, "help", "run"))[1])
        for words in (["help"], ["help", "generate"], ["help", "prepare", "text"]):
            self.assertLessEqual(max(map(len, run(1, *words)[1].splitlines())), 80)
        self.assertIn("byte for byte", " ".join(self.expect(0, run(1, "help", "generate"))[1].split()))
        self.assertIn("--skip-bad", self.expect(0, run(1, "help", "prepare", "text"))[1])
        for word in ("-V", "--version"):
            self.assertRegex(self.expect(0, run(1, word))[1], r"^multicard \d+\.\d+\.\d+")
        self.assertIn("text by loss and perplexity", " ".join(self.expect(0, run(1, "help", "eval"))[1].split()))

    def test_help_on_keys_of_decks(self):
        _, out, _ = self.expect(0, run(2, "help", "keys"))
        self.assertEqual(out.count("run.global_batch (work)\n    integer, 1 ≤ x ≤ 16777216; default 64\n"), 1)
        self.assertLessEqual(max(map(len, out.splitlines())), 80)
        self.assertNotIn("optimizer.eps", self.expect(0, run(1, "help", "keys", "batch"))[1])
        self.expect(2, run(1, "help", "keys", "zzz"), "no key of decks is about 'zzz'")
        self.expect(2, run(1, "help", "keys", "--mark"), "unknown option '--mark' of multicard help keys")
        self.assertIn("optimizer.learning_rate", self.expect(0, run(1, "help", "keys", "Learning", "rate"))[1])
        self.assertIn("--markdown", self.expect(0, run(1, "help", "keys", "--help"))[1])

    def test_help_on_formats_of_others(self):
        _, out, _ = self.expect(0, run(1, "help", "formats"))
        self.assertIn("Records of --type preference", out)
        self.assertLessEqual(max(map(len, out.splitlines())), 80)
        _, out, _ = self.expect(0, run(1, "help", "formats", "question-answer"))
        self.assertIn("context (refused)", out)
        self.assertNotIn("chosen", out)
        self.expect(2, run(1, "help", "formats", "zzz"), "no format is called 'zzz'")
        self.expect(2, run(1, "help", "formats", "--mark"), "unknown option '--mark' of multicard help formats")

    def test_a_misspelt_word_is_named_once_with_what_was_meant(self):
        for words, texts in (
                (["runn", "x"], ["unknown command 'multicard runn'", "Did you mean multicard run?"]),
                (["help", "swep"], ["no command or key of decks is called 'swep'", "mean multicard help sweep?"]),
                (["prepare", "image"], ["unknown command 'multicard prepare image'",
                                          "Did you mean multicard prepare images?"]),
                (["run", self.deck, "--quite"], ["unknown option '--quite' of multicard run", "Did you mean --quiet?"]),
                (["prepare"], ["'multicard prepare' needs a command", "images, text"]),
                ([], ["'multicard' needs a command", "multicard help"])):
            for ranks in (1, 2):
                _, _, err = self.expect(2, run(ranks, *words))
                for text in texts:
                    self.assertEqual(err.count(text), 1, err)

    def test_a_misspelt_deck_is_answered_with_its_neighbour(self):
        _, _, err = self.expect(2, run(2, "run", self.path("dekc.yaml")))
        self.assertEqual(err.count("Did you mean %s?" % self.deck), 1, err)
        self.expect(2, run(1, "run", self.path("deck")), r"Did you mean .*deck\.yaml\?")
        self.expect(2, run(1, "run", self.path("quite_another.yaml")), "Name a YAML file")

    def test_a_missing_checkpoint_is_not_called_a_deck(self):
        os.makedirs(self.path("out/checkpoints/step_00000313"))
        _, _, err = self.expect(2, run(1, "eval", self.path("out/checkpoints/step_00000312")),
                                r"step_00000312 does not exist .*Did you mean .*step_00000313\?")
        self.assertNotIn("deck %s" % self.scratch, err)
        self.expect(2, run(1, "eval", self.path("none.yaml")), r"deck .*none\.yaml cannot be read")

    def test_a_negative_seed_is_refused(self):
        self.expect(2, run(1, "generate", "m", "x", "--seed", "-1"), "-1 is negative")


class End(CommandTest):
    def test_one_rank_alone_ends_without_open_mpis_words(self):
        code, out, err = run(1, "generate", "/nope", "x")
        self.assertEqual(code, 4)
        self.assertEqual(err, "multicard: /nope is neither a model folder nor a checkpoint (it does not exist)\n"
                              "  Name a model folder, or OUTPUT/checkpoints/step_... of a run.\n")

    def test_an_error_of_rank_0_of_several_is_said_once(self):
        _, _, err = self.expect(4, run(2, "generate", "/nope", "x"))
        self.assertEqual(err.count("/nope"), 1, err)
        self.assertNotRegex(err, "MPI_ABORT|ended by signal|rank [01]")

    def test_a_stopped_run_says_why_and_how_to_continue(self):
        self.prepare()
        self.expect(75, run(2, "run", self.deck, "run.epochs=100000", "run.wall_limit=3"),
                    r"stopped +\d+ steps in .* by run\.wall_limit; the same command resumes the run")

    def test_ctrl_c_under_mpirun_leaves_a_whole_checkpoint(self):
        self.prepare()
        terminal = OnTerminal(80, mpirun(2, MULTICARD, "run", self.deck, "run.epochs=100000"))
        self.addCleanup(self.kill_group, terminal.process)
        terminal.read_until(r"step +\d{2,}/")
        os.write(terminal.leader, b"\x03")
        code, _ = terminal.finish()
        self.assertEqual(code, 1, terminal.shown)
        newest = sorted(Path(self.path("out/checkpoints")).glob("step_*/COMPLETE"))[-1]
        self.expect(75, run(2, "run", self.deck, "run.epochs=100000", "run.wall_limit=3"), newest.parent.name)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
