#!/usr/bin/env python3
"""The first commands of a newcomer give what they promise: the trainings and the story of the README, the answers of
the language demo. The commands are those of README.md and of the decks' head comments. Standard library only.

usage: first_impressions_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
LanguageDemo tunes SmolLM2-135M-Instruct (scripts/get_model.sh) for minutes; it runs if MULTICARD_TEST_FULL is 1, and
ends with 77 otherwise.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/commands"))

from command_test import POST, CommandTest, run  # noqa: E402

# At the end of a training. 24 runs of each of the two commands (seeds 1 to 12 on 1 and 2 ranks) ended at 0.992 or more;
# chance is 0.25.
LEAST_ACCURACY = 0.9

DEMO_DECKS = ["lora", "qlora", "qat", "dpo", "chat"]


def commands_of(text):
    """The commands of a text by lines, those that end with a backslash joined with the next."""
    return [line.strip() for line in text.replace("\\\n", " ").split("\n")]


def readme_commands(pattern):
    return [line for line in commands_of((SOURCE / "README.md").read_text()) if re.search(pattern, line)]


def head_commands(deck, pattern):
    """Commands of the comment at the head of a deck."""
    lines = [line[1:] for line in (SOURCE / deck).read_text().split("\n") if line.startswith("#")]
    return [line for line in commands_of("\n".join(lines)) if re.search(pattern, line)]


def prompts_of(deck):
    return json.loads(re.search(r"^  prompts: (\[.*?\])$", (SOURCE / deck).read_text(), re.M | re.S).group(1))


def hint():
    """The question that scripts/demo.sh suggests at its end."""
    return re.search(r'Ask it yourself: multicard generate \$checkpoint --greedy \\"(.*?)\\"',
                     (SOURCE / "scripts/demo.sh").read_text()).group(1)


class FirstImpressions(CommandTest):
    def setUp(self):
        super().setUp()
        for name in ("inputs", "tests"):
            os.symlink(SOURCE / name, self.path(name))

    def start(self, command, ranks, *more, timeout=120):
        """Runs a command line of a document in the scratch folder, on `ranks` ranks if it starts with mpirun."""
        words = shlex.split(command)
        if words[0] == "mpirun":
            words = words[words.index("multicard"):]
        else:
            ranks = 1
        self.assertEqual(words[0], "multicard", command)
        return self.expect(0, run(ranks, *words[1:], *more, cwd=self.scratch, timeout=timeout))

    def one(self, found, what):
        self.assertEqual(len(found), 1, "%s: %s" % (what, found))
        return found[0]


class FirstTrainings(FirstImpressions):
    def setUp(self):
        super().setUp()
        for command in readme_commands(r"^multicard prepare images .* data/tiny/"):
            self.start(command, 1)
        self.trainings = readme_commands(r"^mpirun .* multicard run inputs/image/tiny\.yaml")
        self.assertEqual(len(self.trainings), 3, self.trainings)

    def check_accuracy(self, command, output):
        table = self.one(self.runs(self.path(output + "/results.h5")), output)
        self.assertGreaterEqual(float(table["last_eval_accuracy"]), LEAST_ACCURACY, command)

    def check_trainings(self, ranks, *seeds):
        first, second, _ = self.trainings
        output = re.search(r"run\.output=(\S+)", second).group(1)
        for seed in seeds:
            with self.subTest(ranks=ranks, seed=seed):
                for folder in ("results/tiny", output):
                    shutil.rmtree(self.path(folder), ignore_errors=True)
                self.start(first, ranks, "run.seed=%d" % seed)
                self.check_accuracy(first, "results/tiny")
                self.start(second, ranks, "run.seed=%d" % seed)
                self.check_accuracy(second, output)

    def test_on_two_ranks(self):
        self.check_trainings(2, 2, 3)

    def test_on_one_rank(self):
        self.check_trainings(1, 1, 2)

    def test_as_written_then_scored_and_trained_longer(self):
        self.check_trainings(2, 1)
        scored = self.start(self.one(readme_commands(r"multicard eval results/tiny/"), "eval"), 2, "--json")
        self.assertGreaterEqual(json.loads(scored[1])["accuracy"], LEAST_ACCURACY)
        longer = self.start(self.trainings[2], 2)
        self.assertNotIn("schedule ends", longer[2])
        self.check_accuracy(self.trainings[2], "results/tiny")


class FirstStory(FirstImpressions):
    def test_the_small_language_model_writes_of_a_child(self):
        self.start(self.one(readme_commands(r"^multicard prepare text "), "prepare"), 1)
        training = self.one(readme_commands(r"^mpirun .* inputs/llm/tinystories\.yaml run\.epochs"), "training")
        asking = self.one(readme_commands(r"^multicard generate results/tinystories/"), "generate")
        for seed in (1, 2):
            with self.subTest(seed=seed):
                self.start(training, 2, "run.seed=%d" % seed, "run.resume=never")
                story = self.start(asking, 1)[1]
                self.assertRegex(story, r"\b(girl|boy)\b")
                words = re.findall(r"\w+", story)
                self.assertGreater(len(words), 30, story)
                self.assertGreater(len(set(words)), 20, story)
                self.assertFalse(re.search(r"\b(\w+)( \1){2}\b", story), story)


class DemoPrompts(unittest.TestCase):
    def test_prompts_of_the_demos_are_no_rows_of_their_data(self):
        asked = {row["instruction"].strip().lower()
                 for name in ("instruction-data.json", "instruction-data-with-preference.json")
                 for row in json.loads((SOURCE / "inputs/text" / name).read_text())}
        for name in DEMO_DECKS:
            prompts = prompts_of("inputs/llm/%s.yaml" % name)
            self.assertTrue(prompts, name)
            for prompt in [*prompts, hint()]:
                self.assertNotIn(prompt.lower(), asked, name)


# What a right answer says, and what the untuned model's answer, which is wrong or rambles, does not match.
RIGHT_ANSWERS = {
    "What is the opposite of 'near'?": r"The opposite of 'near' is '(far|distant)'\.?",
    "What is the capital of Finland?": r"The capital of Finland is Helsinki\.",
    "Name the process by which a caterpillar becomes a butterfly.": r"The process .{0,80} is called metamorphosis\.",
}


@unittest.skipUnless(os.environ.get("MULTICARD_TEST_FULL") == "1", "takes minutes: MULTICARD_TEST_FULL=1 runs it")
class LanguageDemo(FirstImpressions):
    DECK = "inputs/llm/lora.yaml"

    def setUp(self):
        super().setUp()
        made = subprocess.run([SOURCE / "scripts/get_model.sh", "smollm2"], stdout=subprocess.PIPE, text=True,
                              check=True)
        os.mkdir(self.path("models"))
        os.symlink(made.stdout.splitlines()[-1], self.path("models/smollm2-135m-instruct"))
        self.start(self.one(head_commands(self.DECK, "^multicard prepare text "), "prepare"), 1)
        self.training = self.one(head_commands(self.DECK, "^mpirun .* multicard run "), "training")

    def check_answers(self, seed, ranks):
        output = self.path("tuned")
        shutil.rmtree(output, ignore_errors=True)
        self.start(self.training, ranks, "run.seed=%d" % seed, "run.output=" + output, timeout=1800)
        report = subprocess.run([POST, output + "/results.h5", "--json"], capture_output=True, text=True, check=True)
        answers = json.loads(report.stdout)["studies"][0]["runs"][0]["before_after"]["answers"]
        self.assertEqual([answer["prompt"] for answer in answers], prompts_of(self.DECK))
        for answer in answers:
            right = "^%s$" % RIGHT_ANSWERS[answer["prompt"]]
            self.assertRegex(answer["after"], right)
            self.assertNotRegex(answer["before"], right)
        checkpoint = self.one(list(Path(output, "checkpoints").glob("step_*")), "checkpoints")
        fruits = self.expect(0, run(1, "generate", str(checkpoint), "--greedy", hint(), cwd=self.scratch))[1]
        self.assertRegex(fruits, r"^(The )?[Tt]hree fruits are \w+, \w+,? and \w+\.\s*$")

    def test_answers_are_right_and_short_after_tuning_alone(self):
        for seed, ranks in ((1, 2), (2, 2), (3, 1)):
            with self.subTest(seed=seed, ranks=ranks):
                self.check_answers(seed, ranks)


if __name__ == "__main__":
    done = unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]], exit=False).result
    is_skipped = len(done.skipped) == done.testsRun
    sys.exit(1 if not done.wasSuccessful() else 77 if is_skipped else 0)
