#!/usr/bin/env python3
"""What stands at the end of every run deck: its report's answer, answers before and after, evaluations, and chains from
preparing data to what another program reads.

usage: golden_training_test.py CLASS   runs one test class; needs h5py and numpy"""

import html
import json
import math
import subprocess

from golden_case import MODEL, SOURCE, GoldenCase, main, small

from evaluation_checks import EvaluationChecks, labels_of, text_counts

INSTRUCTIONS = "inputs/text/instruction-data.json"
PROMPT = "Name a colour."
TEMPLATE = ("Below is an instruction that describes a task. Write a response that appropriately completes the request."
            "\n\n### Instruction:\n%s\n\n### Response:\n")  # of the model's instructions: its folder has none


class TrainingCase(EvaluationChecks, GoldenCase):
    def train(self, deck, name, world=1, **changes):
        """Runs a shipped deck for a few steps and compares its report; returns report and run."""
        output = self.scratch / name
        self.call(world, "run", *small(deck, **{"run.output": output, **changes}))
        report, (study,) = self.compare([output / "results.h5"], world)
        if study.runs[0].deck.get("data.test"):
            self.assertEqual(report.summary["studies"][0]["answers"][0]["id"], "training")
        return report, study.runs[0]

    def alpaca(self):
        return self.texts("alpaca", "alpaca", INSTRUCTIONS, "--max-length", 96)

    def tune(self, deck, world=1, shards=None, **changes):
        train, test = shards or self.alpaca()
        return self.train(f"inputs/llm/{deck}.yaml", deck, world, **{
            "model.path": MODEL, "model.dtype": "fp32", "data.train": train, "data.test": test, "data.max_length": 128,
            "run.global_batch": 4, "run.micro_batch": 2, "evaluate.limit": 16, **changes})


class ImageDecks(TrainingCase):
    def test_every_run_deck(self):
        train, test = self.images("train", limit=64), self.images("test", limit=32)
        narrow = {"data.train": train, "data.test": test, "data.image_size": 32, "model.width": 0.25,
                  "model.classes": 4}
        for deck, changes in (("tiny", {}), ("fashion_mnist", {}), ("sign_language", {}),
                              ("../tests/slurm", {"data.test": None})):
            with self.subTest(deck):
                _, run = self.train(f"inputs/image/{deck}.yaml", deck.split("/")[-1], 2, **{**narrow, **changes})
                if changes:
                    continue
                self.assertTrue(math.isfinite(run.last("eval_accuracy")))


class TextDecks(TrainingCase):
    def test_every_run_deck(self):
        pairs = self.texts("pairs", "preference", "inputs/text/instruction-data-with-preference.json")
        questions = self.texts("questions", "question-answer", "inputs/text/gsm8k_test.jsonl", "--max-length", 256)
        decks = {"lora": {}, "qlora": {}, "chat": {}, "dpo": {"shards": pairs},
                 "qat": {"method.fake_quant_step": 1, "method.group_size": 32},
                 "gsm8k": {"shards": questions, "data.max_length": 256, "evaluate.questions.limit": 2,
                           "evaluate.questions.max_new": 8},
                 "llama3_8b_1gpu": {}, "llama3_8b_4gpu": {"world": 2}, "llama3_8b_8gpu": {"world": 2},
                 "llama3_8b_full_8gpu": {"world": 2}, "llama3_8b_dpo_8gpu": {"world": 2, "shards": pairs},
                 "llama3_70b_lora_8gpu": {"world": 2}, "llama3_70b_qlora_8gpu_24gb": {"world": 2}}
        for deck, changes in decks.items():
            with self.subTest(deck):
                _, run = self.tune(deck, **changes)
                before, after = run.change("eval_loss")
                self.assertTrue(math.isfinite(before) and math.isfinite(after))
                if run.answers:
                    self.assertEqual(len(run.answers), len(run.deck["evaluate.prompts"]))


class BeforeAndAfter(TrainingCase):
    """The report's answers are those of the base model and of the checkpoint."""

    def answer(self, *words):
        out = self.call(1, "generate", *words, "--raw", "--greedy", "--json", "--max-new", 24, TEMPLATE % PROMPT)
        return json.loads(out)

    def test_answers_export_and_evaluation(self):
        train, test = self.alpaca()
        report, run = self.tune("tinystories", **{
            "optimizer.learning_rate": 0.02, "run.steps": 8, "evaluate.prompts": f"['{PROMPT}']",
            "evaluate.max_new": 24, "evaluate.limit": "null"})
        checkpoint = self.scratch / "tinystories/checkpoints/step_00000008"
        after = self.answer(checkpoint)
        self.assertEqual(run.answers, [(PROMPT, self.answer(MODEL, "--dtype", "fp32")["text"], after["text"])])
        self.assertNotEqual(run.answers[0][1], run.answers[0][2], "training changed the answer")
        for text in run.answers[0][1:]:
            self.assertIn(text.strip(), html.unescape(report.page))
        printed = json.loads(self.call(1, "eval", checkpoint, "--json"))
        self.assert_same(printed["loss"], run.last("eval_loss"), "eval of the checkpoint")
        self.check_text_evaluation(self.scratch / "tinystories/eval.h5", printed, test)
        self.check_peer(checkpoint, after)

    def check_peer(self, checkpoint, after):
        """LoRA, export, PEFT: the same greedy tokens."""
        adapter = self.scratch / "adapter"
        self.call(1, "export", checkpoint, adapter)
        self.assertEqual(self.answer(MODEL, "--adapter", adapter, "--dtype", "fp32")["ids"], after["ids"])
        script = ('. scripts/lib.sh; . scripts/peers.sh; [ -s "$peers_folder/.multicard-complete" ] && '
                  'find_torch_python || exit 77; with_peers "$python" tests/golden/peer_generate.py "$@"')
        done = subprocess.run(["bash", "-c", script, "golden", MODEL, adapter, str(len(after["ids"])),
                               ",".join(map(str, after["prompt_ids"]))], capture_output=True, text=True, cwd=SOURCE,
                              check=False)
        if done.returncode == 77:
            self.skipTest("transformers and PEFT are not installed (scripts/setup_peers.sh)")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout), after["ids"])


class JudgedRuns(TrainingCase):
    def test_what_slows_a_run_down(self):
        """Large images that the training thread makes small: compare() recomputes what is found. Steps wait a third of
        their time for data, or for cores of a machine that others use too; a tenth and a fifth are findings."""
        slow = {"data.train": self.images("large", size=500, limit=64), "data.test": "null", "run.steps": 24,
                "data.workers": 0, "run.global_batch": 64, "optimizer.learning_rate": 0.001}
        report, run = self.train("inputs/image/tiny.yaml", "slow", 2, **slow)
        self.assertGreaterEqual(len(run.measured), 10)
        found = report.summary["studies"][0]["findings"]
        self.assertTrue(found)
        for finding in found:
            self.assertIn(html.escape(finding["text"]), report.page.replace("\u00a0", " "))


class Chains(TrainingCase):
    def test_a_checkpoint_resumed_on_other_ranks_and_evaluated(self):
        tiny = {"data.train": self.images("train", limit=64), "data.test": self.images("test", limit=32),
                "run.global_batch": 8, "run.checkpoint_every": 4}
        self.train("inputs/image/tiny.yaml", "resumed", 2, **tiny)
        output = self.scratch / "resumed"
        self.call(1, "run", *small("inputs/image/tiny.yaml", **{**tiny, "run.steps": 12, "run.output": output}))
        report, (study,) = self.compare([output / "results.h5"], 2)
        (run,) = study.runs
        self.assertEqual((run.num_steps, run.ranks, len(run.measured)), (12, 2, 3))  # those of both ranks
        self.assertEqual(len(report.summary["studies"][0]["runs"]), 1)
        printed = json.loads(self.call(2, "eval", output / "checkpoints/step_00000012", "--json", "-o",
                                       output / "eval.h5"))
        self.assert_same(printed["accuracy"], run.last("eval_accuracy"), "accuracy")
        self.assert_same(printed["loss"], run.last("eval_loss"), "loss", 1e-5)
        self.check_image_evaluation(output / "eval.h5", printed, tiny["data.test"])

    def test_prepared_data_are_what_is_trained_on(self):
        pattern = self.images("train", limit=64)
        _, run = self.train("inputs/image/tiny.yaml", "epoch", 2, **{
            "data.train": pattern, "data.test": "null", "run.epochs": 2, "run.global_batch": 12})
        self.assertEqual(self.total(run, "epoch", "samples"), 2 * len(labels_of(pattern)))
        train, _ = self.alpaca()
        _, run = self.tune("tinystories", 2, **{"run.epochs": 1, "run.global_batch": 64,
                                                "run.micro_batch": 16, "evaluate.at_start": "false"})
        counted = tuple(self.total(run, "tinystories", key) for key in ("samples", "tokens", "trained_tokens"))
        self.assertEqual(counted, text_counts(train))

    def total(self, run, name, key):
        import h5py
        with h5py.File(self.scratch / name / "results.h5") as file:
            return int(file["runs"][run.name]["steps"][key][:].sum())


if __name__ == "__main__":
    main()
