#!/usr/bin/env python3
"""What the programs say of themselves: help on commands and keys, manual pages, completion, recipes.

usage: help_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from command_test import MULTICARD, POST, CommandTest, run

SOURCE = Path(os.environ["MULTICARD_SOURCE"])
COMMANDS = ("run", "sweep", "share", "plan", "prepare", "eval", "export", "tokenize", "generate", "watch", "info",
            "recipes")
SCRATCH = []  # the folder of write_help(), once for all tests


def written_help():
    """What cmake/write_help.sh writes."""
    if not SCRATCH:
        SCRATCH.append(tempfile.TemporaryDirectory(prefix="multicard-help-"))
        subprocess.run([SOURCE / "cmake/write_help.sh", MULTICARD, POST, SCRATCH[0].name], check=True)
    return Path(SCRATCH[0].name)


class Help(CommandTest):
    def test_of_a_key_with_an_example_and_its_place_in_the_documents(self):
        _, out, _ = self.expect(0, run(1, "help", "optimizer.learning_rate"))
        for text in ("meaning   the peak", "type      number, > 0", "default   0.05", "optimizer.learning_rate=0.01",
                     'docs/decks.md, "optimizer"'):
            self.assertIn(text, out)
        self.assertLessEqual(max(map(len, out.splitlines())), 80)

    def test_of_keys_by_the_names_that_other_programs_give_them(self):
        for word, key in (("lr", "optimizer.learning_rate"), ("lora_r", "method.rank"), ("num_workers", "data.workers"),
                          ("train_batch_size", "run.global_batch"), ("learning_rate", "optimizer.learning_rate")):
            self.assertTrue(self.expect(0, run(1, "help", word))[1].startswith(key + "\n"), word)

    def test_of_a_section_lists_its_keys(self):
        _, out, _ = self.expect(0, run(1, "help", "schedule"))
        self.assertRegex(out, r"(?m)^schedule\.gamma ")
        self.assertNotIn("optimizer.", out)

    def test_every_key_has_a_card_whose_section_the_document_has(self):
        _, out, _ = self.expect(0, run(1, "help", "keys"))
        keys = re.findall(r"(?m)^([a-z_.]+) \(", out)
        self.assertGreater(len(keys), 100)
        headings = set(re.findall(r"(?m)^### (\w+)$", (SOURCE / "docs/decks.md").read_text()))
        for section in {key.split(".")[0] if "." in key else "Top" for key in keys}:
            self.assertIn(section, headings)
        for key in keys[::20]:
            self.assertIn(f"{key}=", self.expect(0, run(1, "help", key))[1])

    def test_of_words_that_nothing_is_called(self):
        self.expect(2, run(1, "help", "optimzer.learning_rate"), "Did you mean multicard help optimizer.learning_rate")
        self.expect(2, run(1, "help", "qqqqqq"), "no command or key .* 'qqqqqq'", "help --search qqqqqq")

    def test_a_search_finds_commands_options_and_keys(self):
        _, out, _ = self.expect(0, run(1, "help", "--search", "perplexity"))
        self.assertIn("multicard eval", out)
        _, out, _ = self.expect(0, run(1, "help", "--search", "Micro-batch"))
        self.assertRegex(out, r"(?s)options\n.*multicard run --what-fits")
        self.assertRegex(self.expect(0, run(1, "help", "--search", "batch"))[1], r"(?m)^  run\.global_batch  ")
        self.expect(2, run(1, "help", "--search", "zzzz"), "no command, option or key .* 'zzzz'")
        self.expect(2, run(1, "help", "--search"), "needs a word")

    def test_of_a_command_is_that_of_its_option(self):
        for words in (["run"], ["prepare", "text"], ["recipes", "cp"]):
            said = self.expect(0, run(1, "help", *words))[1]
            self.assertEqual(said, self.expect(0, run(1, *words, "--help"))[1])
            self.assertRegex(said, r"(?m)^examples?:\n  .*multicard")
            self.assertNotRegex(said, "Excludes|Needs|REQUIRED|TEXT")
        for word in ("profile", "trace"):
            said = subprocess.run([POST, "help", word], capture_output=True, text=True, check=True).stdout
            self.assertEqual(said, subprocess.run([POST, word, "--help"], capture_output=True, text=True,
                                                  check=True).stdout)


class Complaints(CommandTest):
    """An error is `PROGRAM: PROBLEM (WHY)`, and below it what to do."""

    def refused(self, code, words, problem, advice, program=MULTICARD):
        done = subprocess.run([program, *words], capture_output=True, text=True, cwd=self.scratch, check=False)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        name = os.path.basename(program)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("multicard 0.")]
        self.assertEqual(len(lines), 2 if advice else 1, done.stderr)
        self.assertRegex(lines[0], f"^{name}: {problem}$")
        if advice:
            self.assertRegex(lines[1], f"^  {advice}$")

    def test_of_a_command_line_have_an_example(self):
        for words, problem, advice in (
                (["run"], "'multicard run' needs DECK", "multicard help run says more. Example: multicard run .*"),
                (["export", "x"], "'multicard export' needs FOLDER", ".* Example: multicard export .*"),
                (["prepare", "text"], "'multicard prepare text' needs --.*", ".* Example: multicard prepare text .*"),
                (["generate", "m"], "'multicard generate' needs prompt or --prompts", ".* Example: .*"),
                (["run", "d", "--memory", "3"], "--memory requires --what-fits", ".* Example: .*--memory 80GB"),
                (["generate", "m", "p", "--dtype", "fp23"], "--dtype: fp23 not in .*", "Did you mean --dtype fp.*"),
                (["export", "a", "b", "c"], "unexpected word c of multicard export", ".* Example: .*")):
            self.refused(2, words, problem, advice)

    def test_of_multicard_post_name_it(self):
        for words, code, problem, advice in (
                ([], 2, "'multicard-post' needs RESULTS.h5", ".* Example: multicard-post results/tiny/results.h5"),
                (["--heet", "a"], 2, "unknown option '--heet' of multicard-post",
                 "Did you mean --heat\\? .* Example: multicard-post .*"),
                (["profile", "--topp"], 2, "unknown option '--topp' of multicard-post profile", "Did you mean --top.*"),
                (["nothing.h5"], 4, r"nothing.h5 cannot be read \(No such file or directory\)",
                 "multicard writes it to run.output .*")):
            self.refused(code, words, problem, advice, POST)

    def test_of_folders_without_results_say_what_writes_them(self):
        os.mkdir(self.path("empty"))
        self.refused(4, ["empty"], r"empty holds no results.h5 \(.*\)", "multicard writes it to run.output .*", POST)

    def test_of_keys_of_other_programs_name_ours(self):
        for word, key in (("batch_size=3", "run.global_batch"), ("training.batch_size=3", "run.global_batch"),
                          ("lora.rank=3", "method.rank"), ("optim.lr=3", "optimizer.learning_rate")):
            deck = "inputs/llm/lora.yaml" if "lora" in word else "inputs/image/tiny.yaml"
            self.refused(2, ["run", str(SOURCE / deck), word], r"deck .*: unknown key \(known keys here: .*\)",
                         f"Did you mean {key}\\?")

    def test_of_missing_data_say_where_it_was_sought_and_what_makes_it(self):
        deck = str(SOURCE / "inputs/image/tiny.yaml")
        self.refused(4, ["run", deck, "run.output=out"],
                     r"no file matches data/tiny/train\*.h5 \(paths are relative to .*\)", "multicard prepare .*")

    def test_of_checkpoints_name_one(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        newest = self.path("out/checkpoints/step_00000004")
        for folder in ("out", "out/checkpoints"):
            self.refused(4, ["export", self.path(folder), "x"], r".* is not a checkpoint \(it is the .*\)",
                         f"Name one of its checkpoints, such as {newest}")

    def test_reports_are_made_of_folders_with_results(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        done = subprocess.run([POST, self.path("out")], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(self.path("out/report.html")))


class ManPages(unittest.TestCase):
    def test_there_is_one_of_every_command(self):
        pages = {path.name for path in (written_help() / "man1").iterdir()}
        expected = {f"multicard-{command}.1" for command in COMMANDS} | {
            "multicard.1", "multicard-prepare-images.1", "multicard-prepare-text.1", "multicard-recipes-ls.1",
            "multicard-recipes-cp.1", "multicard-post.1", "multicard-post-profile.1", "multicard-post-trace.1"}
        self.assertTrue(expected <= pages, expected - pages)
        self.assertEqual([path.name for path in (written_help() / "man5").iterdir()], ["multicard-deck.5"])

    def test_they_are_formatted_without_a_warning(self):
        groff, mandoc = shutil.which("groff"), shutil.which("mandoc")
        if not groff and not mandoc:
            self.skipTest("neither groff nor mandoc here (scripts/setup.sh --test installs groff)")
        for path in sorted(written_help().glob("man?/*")):
            if groff:
                done = subprocess.run([groff, "-man", "-ww", "-Kutf8", "-Tutf8", "-P-cbou", path], capture_output=True,
                                      text=True, check=True)
                self.assertEqual(done.stderr, "", path.name)
                for word in ("NAME", "SYNOPSIS" if path.suffix == ".1" else "KEYS", "SEE ALSO"):
                    self.assertRegex(done.stdout, f"(?m)^{word}$", path.name)
            if mandoc:
                done = subprocess.run([mandoc, "-T", "lint", "-W", "error", path], capture_output=True, text=True,
                                      check=False)
                self.assertEqual((done.returncode, done.stdout), (0, ""), path.name)

    def test_they_say_what_help_says(self):
        if not shutil.which("groff"):
            self.skipTest("no groff here (scripts/setup.sh --test installs it)")
        page = written_help() / "man1/multicard-run.1"
        shown = subprocess.run(["groff", "-man", "-Kutf8", "-Tutf8", "-P-cbou", page], capture_output=True,
                               text=True, check=True).stdout
        for option in ("--dry-run", "--what-fits", "--memory"):
            self.assertIn(option, shown)
        self.assertIn("multicard run inputs/image/tiny.yaml", shown)
        self.assertIn("method.rank", (written_help() / "man5/multicard-deck.5").read_text())


class Completion(CommandTest):
    # A shell that completes a line, and prints what it would offer.
    BASH = """source "$1"
COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
COMP_LINE=$2 COMP_POINT=${#2}
function=$(complete -p "${2%% *}" | sed 's/.*-F \\([^ ]*\\).*/\\1/')
"$function" 2>/dev/null
printf '%s\\n' "${COMPREPLY[@]}"
"""

    def offered(self, line):
        script = written_help() / "bash" / line.split()[0]
        done = subprocess.run(["bash", "-c", self.BASH, "bash", script, line], capture_output=True, text=True,
                              cwd=self.scratch, check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_bash_offers_commands_options_and_their_words(self):
        for line, some in (("multicard ", set(COMMANDS)), ("multicard prepare ", {"images", "text"}),
                           ("multicard run x.yaml --wh", {"--what-fits"}), ("multicard ex", {"export"}),
                           ("multicard generate m --dtype f", {"fp64", "fp32", "fp16"}),
                           ("multicard prepare text --type al", {"alpaca"}), ("multicard recipes ", {"ls", "cp"}),
                           ("multicard-post ", {"profile", "trace"}), ("multicard-post --csv=c", {"cells"}),
                           ("multicard-post profile r.h5 --csv k", {"kernels"})):
            self.assertTrue(some <= set(self.offered(line)), (line, self.offered(line)))
        self.assertEqual(self.offered("multicard ru"), ["run"])

    def test_bash_offers_decks_then_keys_then_their_values(self):
        Path(self.path("mine.yaml")).touch()
        Path(self.path("notes.txt")).touch()
        os.mkdir(self.path("decks"))
        self.assertEqual(sorted(self.offered("multicard run ")), ["deck.yaml", "decks/", "mine.yaml"])
        self.assertEqual(self.offered("multicard run mine.yaml optimizer.lea"), ["optimizer.learning_rate="])
        # What follows "=" alone: bash has broken the word there.
        self.assertEqual(self.offered("multicard run mine.yaml precision=fp"), ["fp64", "fp32", "fp16"])
        self.assertEqual(self.offered("multicard run mine.yaml --quiet data.shuffle=f"), ["false"])
        self.assertNotIn("run.steps=", self.offered("multicard plan mine.yaml "))

    def test_scripts_are_right_by_their_shells(self):
        for shell, options in (("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")):
            with self.subTest(shell=shell):
                if not shutil.which(shell):
                    self.skipTest(f"no {shell} here (scripts/setup.sh --test installs it)")
                for path in (written_help() / shell).iterdir():
                    done = subprocess.run([shell, options, path], capture_output=True, text=True, check=False)
                    self.assertEqual((done.returncode, done.stderr), (0, ""), path.name)

    def test_fish_offers_keys_and_their_values(self):
        if not shutil.which("fish"):
            self.skipTest("no fish here (scripts/setup.sh --test installs it)")
        for line, word in (("multicard sw", "sweep"), ("multicard run d.yaml precision=fp1", "precision=fp16"),
                           ("multicard run d.yaml --what", "--what-fits"), ("multicard-post tr", "trace")):
            script = f"source {written_help() / 'fish' / line.split()[0]}.fish; complete -C '{line}'"
            out = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=True,
                                 env=dict(os.environ, HOME=self.scratch)).stdout
            self.assertIn(word, [offered.split("\t")[0] for offered in out.splitlines()], line)


class Recipes(CommandTest):
    def copy(self, *words, code=0):
        done = subprocess.run([MULTICARD, "recipes", "cp", *words], capture_output=True, text=True, cwd=self.scratch,
                              check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout.split(), done.stderr

    def test_each_deck_has_a_line_with_its_command_and_first_sentence(self):
        lines = self.expect(0, run(2, "recipes", "ls"))[1].splitlines()
        rows = {line.split()[0]: line for line in lines}
        self.assertEqual(len(rows), len(lines))
        decks = {path.relative_to(SOURCE / "inputs").with_suffix("").as_posix()
                 for path in (SOURCE / "inputs").rglob("*.yaml")}
        self.assertEqual(set(rows), {name for name in decks if not name.startswith("tests/")}
                         - {"share/arrival", "study/claim/claim"})
        self.assertRegex(rows["image/tiny"], r"^image/tiny +multicard run +Seconds on a laptop: .*\.")
        self.assertRegex(rows["image/study/scaling"], r"multicard sweep  The study, .* on 1, 2, \.\.\. GPUs at FP32 ")
        for row in rows.values():
            self.assertRegex(row, r"multicard (run|sweep|share|plan) +\S.*[.:]$")
        self.assertEqual(self.expect(0, run(1, "recipes", "ls", "Sign Language"))[1].count("\n"), 1)
        self.expect(2, run(1, "recipes", "ls", "zzz"), "no recipe is about 'zzz'")

    def test_a_copy_is_the_deck_with_its_comments_and_is_not_replaced(self):
        files, err = self.copy("image/tiny", "first.yaml")
        self.assertEqual(files, ["first.yaml"])
        self.assertIn("multicard run first.yaml", err)
        text = Path(self.path("first.yaml")).read_text()
        shipped = (SOURCE / "inputs/image/tiny.yaml").read_text()
        self.assertEqual(text.replace("first.yaml", "inputs/image/tiny.yaml"), shipped)
        Path(self.path("first.yaml")).write_text("mine")
        _, err = self.copy("image/tiny", "first.yaml", code=2)
        self.assertIn("first.yaml exists (it would be replaced)", err)
        self.assertEqual(Path(self.path("first.yaml")).read_text(), "mine")

    def test_a_copy_reads_no_other_deck(self):
        for name in ("bin", "inputs/image"):
            os.makedirs(self.path(name))
        shutil.copy(MULTICARD, self.path("bin"))  # looks for decks next to itself
        shutil.copy(SOURCE / "inputs/image/tiny.yaml", self.path("inputs/image"))
        Path(self.path("inputs/broken.yaml")).write_text("a: [")
        for words, code, names_it in ((("cp", "image/tiny"), 0, False), (("cp", "image/tinny"), 2, True),
                                      (("ls",), 0, True)):
            done = subprocess.run([self.path("bin/multicard"), "recipes", *words], capture_output=True, text=True,
                                  cwd=self.scratch, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual("broken.yaml" in done.stderr, names_it, done.stderr)

    def test_what_a_deck_refers_to_is_copied_with_it(self):
        for name, expected in (("image/tiny_scaling", ["tiny_scaling.yaml", "tiny.yaml"]),
                               ("share/tiny", ["tiny.yaml", "image_tiny.yaml", "tinystories.yaml"]),
                               ("llm/study/methods", ["methods.yaml", "lora.yaml"]),
                               ("plan/example", ["example.yaml", "vision.csv", "llm.csv"])):
            folder = name.replace("/", "_") + "/"
            files, _ = self.copy(name, folder)
            self.assertEqual(files, [folder + file for file in expected])
        self.expect(0, run(1, "plan", self.path("plan_example/example.yaml")))
        self.expect(0, run(1, "sweep", self.path("image_tiny_scaling/tiny_scaling.yaml"), "--print-config"))
        self.copy("image/tiny", "image_tiny_scaling", code=2)
        files, _ = self.copy("image/fashion_scaling")
        self.assertEqual(files, ["./fashion_scaling.yaml", "./fashion_mnist.yaml"])

    def test_paths_of_shipped_files_lead_to_them(self):
        self.copy("llm/gsm8k")
        text = Path(self.path("gsm8k.yaml")).read_text()
        self.assertIn(f"--in {SOURCE}/inputs/text/gsm8k_train.jsonl", text)
        self.assertIn(f"file: {SOURCE}/inputs/text/gsm8k_test.jsonl", text)
        self.assertNotRegex(text, r"(?m)[ #]inputs/")

    def test_a_name_that_is_none_is_answered_with_its_neighbour(self):
        self.assertIn("Did you mean multicard recipes cp llm/lora?", self.copy("llm/lorra", code=2)[1])
        self.assertIn("image/tiny and share/tiny", self.copy("tiny", code=2)[1])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
