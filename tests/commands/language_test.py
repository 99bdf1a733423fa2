#!/usr/bin/env python3
"""Tuning a language model as a person does it: shards, run, stop, resume, eval, generate. Standard library only.

usage: language_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from command_test import MULTICARD, POST, run
from tuning_case import MODEL, SOURCE, TuningCase


class Language(TuningCase):
    def test_a_run_that_goes_on_equals_one_that_was_never_stopped(self):
        self.expect(0, run(2, "run", self.deck, "run.output=" + self.path("whole")))
        self.expect(0, run(2, "run", self.deck, "run.steps=4"))
        self.expect(0, run(2, "run", self.deck))
        self.assertEqual(self.losses(), self.losses("whole"))
        self.assertEqual(len(self.losses()), 8)
        for name in ("adapter_model.safetensors", "optimizer.safetensors", "adapter_config.json"):
            whole, resumed = (Path(self.checkpoint(output), name).read_bytes() for output in ("whole", "out"))
            self.assertEqual(whole, resumed, name)

    def test_other_numbers_of_ranks_read_the_same_rows(self):
        self.expect(0, run(1, "run", self.deck, "run.output=" + self.path("alone")))
        for ranks, steps in ((1, 2), (2, 4), (3, 6), (1, 8)):
            self.expect(0, run(ranks, "run", self.deck, "run.steps=%d" % steps))
        for a, b in zip(self.losses("alone"), self.losses()):
            self.assertAlmostEqual(a, b, delta=1e-5 * a)
        tokens = self.dataset(self.path("out/results.h5"), "/runs/main/steps/tokens")
        self.assertEqual(len(tokens), 3 * 8)

    def test_eval_scores_as_the_run_did_and_the_base_model_worse(self):
        self.expect(0, run(2, "run", self.deck, "evaluate.at_start=true"))
        recorded = self.dataset(self.path("out/results.h5"), "/runs/main/metrics/eval_loss")
        code, out, err = run(1, "eval", self.checkpoint(), "--json")
        self.assertEqual(code, 0, err)
        tuned = json.loads(out)
        self.assertEqual(list(tuned), ["loss", "perplexity", "tokens", "targets", "sequences"])
        self.assertAlmostEqual(tuned["loss"], float(recorded[-1]), delta=1e-5 * tuned["loss"])
        self.assertEqual(tuned["sequences"], 12)
        code, out, err = run(2, "eval", self.deck, "run.output=" + self.path("nothing"), "--json")
        self.assertEqual(code, 0, err)
        base = json.loads(out)
        self.assertAlmostEqual(base["loss"], float(recorded[0]), delta=1e-5 * base["loss"])
        self.assertLess(tuned["loss"], base["loss"])

    def ask(self, *records):
        Path(self.path("questions.jsonl")).write_text("".join(json.dumps(record) + "\n" for record in records))
        return ("evaluate={at_start: true, questions: {file: %s, max_new: 8}, max_new: 8, "
                "prompts: ['Name a colour.', 'What now?']}" % self.path("questions.jsonl"))

    def test_a_run_that_goes_on_keeps_what_was_answered_before(self):
        asking = self.ask(*({"question": "What is %d and 1?" % i, "answer": "#### 7"} for i in range(3)))
        self.expect(0, run(2, "run", self.deck, asking, "run.output=" + self.path("whole")),
                    r"exact match \S+ \(\d of 3 questions\)", "before", "after",
                    r"exact match +\S+ after 8 steps, \S+ before")
        self.expect(0, run(2, "run", self.deck, asking, "run.steps=4"))
        self.expect(0, run(2, "run", self.deck, asking))
        whole, resumed = (self.path(name + "/results.h5") for name in ("whole", "out"))
        for column in ("prompt", "before", "after"):
            shown = [self.text(file, "/runs/main/answers/" + column).split("\n", 1)[1] for file in (whole, resumed)]
            self.assertEqual(*shown, column)
        for metric in ("eval_exact_match", "eval_questions"):
            self.assertEqual(*(self.dataset(file, "/runs/main/metrics/" + metric)[0] for file in (whole, resumed)))
        self.assertEqual(self.dataset(resumed, "/runs/main/metrics/eval_questions"), ["3", "3"])
        done = subprocess.run([POST, resumed, "--json"], capture_output=True, text=True)
        report = json.loads(done.stdout)["studies"][0]["runs"][0]["before_after"]
        self.assertEqual([answer["prompt"] for answer in report["answers"]], ["Name a colour.", "What now?"])
        self.assertEqual(report["questions"], {"before": 3, "after": 3})

    def test_a_stop_after_the_last_step_leaves_the_answers_for_later(self):
        overrides = [self.ask({"question": "What is 1 and 1?", "answer": "#### 2"}), "run.steps=1"]
        self.expect(75, run(2, "run", self.deck, *overrides, "run.wall_limit=0.01"))
        steps = "/runs/main/metrics/eval_questions_step"
        self.assertEqual(self.dataset(self.path("out/results.h5"), steps), ["0"])
        self.expect(0, run(1, "run", self.deck, *overrides))
        self.assertEqual(self.dataset(self.path("out/results.h5"), steps), ["0", "1"])

    def test_eval_asks_the_questions_of_the_deck(self):
        asking = self.ask({"question": "What is 1 and 1?", "answer": "#### 2"})
        self.expect(0, run(1, "run", self.deck, asking))
        code, out, err = run(2, "eval", self.checkpoint(), "--json")
        self.assertEqual(code, 0, err)
        scores = json.loads(out)
        self.assertEqual(list(scores), ["loss", "perplexity", "tokens", "targets", "sequences", "exact_match"])
        self.assertEqual(scores["exact_match"], float(self.dataset(
            self.path("out/results.h5"), "/runs/main/metrics/eval_exact_match")[-1]))

    def test_questions_that_cannot_be_scored_end_the_run_before_it_begins(self):
        good = {"question": "What is 1 and 1?", "answer": "#### 2"}
        wrong = {"question": "And 2?", "answer": "4"}
        self.expect(4, run(2, "run", self.deck, self.ask(good, good, wrong)), "line 3 of")
        self.expect(4, run(1, "run", self.deck, self.ask(good, {"question": 3, "answer": "#### 4"})), "line 2 of")
        self.expect(4, run(2, "run", self.deck, "evaluate.questions={file: %s}" % self.path("none")), "none")

    def test_full_tuning_leaves_a_model_folder(self):
        self.expect(0, run(2, "run", self.deck, "method={name: full}", "data.packing=true", "run.steps=4",
                           "optimizer.learning_rate=1e-4"))
        folder = self.checkpoint(step=4)
        for name in ("model.safetensors", "config.json", "tokenizer.json"):
            self.assertTrue(os.path.exists(os.path.join(folder, name)), name)
        code, out, err = run(1, "generate", folder, "--greedy", "--json", "--max-new", "5", "Name a colour.")
        self.assertEqual(code, 0, err)
        self.assertLessEqual(len(json.loads(out)["ids"]), 5)

    def test_a_model_folder_that_is_not_there_is_named_rather_than_a_changed_setting(self):
        self.expect(0, run(1, "run", self.deck, "run.steps=4"))
        none = self.path("none")
        _, _, err = self.expect(4, run(1, "run", self.deck, "model.path=" + none), "none/config.json cannot be read")
        self.assertNotIn("has changed", err)
        shutil.copytree(MODEL, self.path("moved"))
        self.expect(2, run(1, "run", self.deck, "model.path=" + self.path("moved")), r"model\.path has changed from")
        os.remove(self.path("moved/model.safetensors"))
        self.expect(4, run(1, "run", self.deck, "model.path=" + self.path("moved")), "moved")

    def test_a_run_does_not_resume_on_another_base_model(self):
        self.model = self.path("model")
        shutil.copytree(MODEL, self.model)
        self.write_deck()
        self.expect(0, run(1, "run", self.deck, "run.steps=4"))
        weights = Path(self.model, "model.safetensors")
        weights.chmod(0o644)
        data = bytearray(weights.read_bytes())
        data[-1] ^= 1
        weights.write_bytes(data)
        self.expect(2, run(2, "run", self.deck), "base_model_sha256 of the model has changed")

    def test_a_shape_without_weights_can_be_tuned(self):
        self.model = self.path("shape")
        os.mkdir(self.model)
        for name in ("config.json", "tokenizer.json"):
            shutil.copy(Path(MODEL, name), self.model)
        self.write_deck()
        self.expect(4, run(2, "run", self.deck), "config.json, but no weights", "model.random_weights")
        self.expect(0, run(2, "run", self.deck, "model.random_weights=true"))
        code, out, err = run(1, "eval", self.checkpoint(), "--json")
        self.assertEqual(code, 0, err)
        recorded = self.dataset(self.path("out/results.h5"), "/runs/main/metrics/eval_loss")
        self.assertAlmostEqual(json.loads(out)["loss"], float(recorded[-1]), delta=1e-5 * float(recorded[-1]))
        self.expect(0, run(1, "generate", self.checkpoint(), "--greedy", "--max-new", "3", "Name a colour."))
        self.expect(0, run(1, "export", self.checkpoint(), self.path("adapter")), "PEFT adapter")
        self.expect(2, run(1, "export", self.checkpoint(), self.path("merged"), "--merge", "original"),
                    "random weights")
        self.expect(2, run(2, "run", self.deck, "model.random_weights=true", "run.steps=9", "run.seed=4"), "run.seed")

    def changed_model(self, name, **settings):
        folder = Path(self.path(name))
        shutil.copytree(MODEL, folder)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, **settings}))
        return folder

    def test_what_does_not_belong_to_the_model_is_noticed(self):
        short = self.changed_model("short", max_position_embeddings=64)
        for packing in ("false", "true"):
            self.expect(2, run(1, "run", self.deck, "model.path=%s" % short, "data.packing=" + packing), "64 positions")
        other = self.changed_model("other")
        with open(other / "tokenizer.json", "a") as file:
            file.write("\n")
        self.expect(0, run(2, "run", self.deck, "model.path=%s" % other, "run.steps=1"), "a different tokenizer file")
        self.assertNotIn("a different tokenizer file", run(1, "run", self.deck, "run.steps=1")[2])

    def test_generate_and_export_take_the_moving_average(self):
        def answer(*model):
            code, out, err = run(1, "generate", *model, "--raw", "--greedy", "--max-new", "20", "--dtype", "fp32",
                                 "Once upon a time")
            self.assertEqual(code, 0, err)
            return out
        for method, override in (("lora", "method={name: lora, rank: 4, alpha: 8}"), ("full", "method={name: full}")):
            for name, decay in ((method, "0.9"), (method + "_plain", "0")):
                self.expect(0, run(1, "run", self.deck, override, "run.ema_decay=" + decay,
                                   "optimizer.learning_rate=0.02", "run.output=" + self.path(name)))
            averaged, plain = (answer(self.checkpoint(name)) for name in (method, method + "_plain"))
            self.assertNotEqual(averaged, plain, method)
            folder = self.path(method + "_export")
            self.expect(0, run(1, "export", self.checkpoint(method), folder), "moving average")
            exported = [MODEL, "--adapter", folder] if method == "lora" else [folder]
            self.assertEqual(averaged, answer(*exported), method)

    def test_a_base_model_in_4_bits_is_the_same_in_every_command(self):
        def answer(model):
            return self.expect(0, run(1, "generate", model, "--raw", "--greedy", "--max-new", "20", "--dtype", "fp32",
                                      "Once upon a time"))[1]

        def metadata(folder):
            with open(folder + "/model.safetensors", "rb") as file:
                return json.loads(file.read(int.from_bytes(file.read(8), "little")))["__metadata__"]

        qlora = "method={name: qlora, rank: 4, alpha: 8}"
        self.expect(0, run(1, "run", self.deck, "optimizer.learning_rate=0.02", "run.output=" + self.path("dense")))
        self.expect(0, run(2, "run", self.deck, "optimizer.learning_rate=0.02", qlora, "run.steps=4"))
        self.expect(0, run(1, "run", self.deck, "optimizer.learning_rate=0.02", qlora), r"method +qlora rank 4")
        self.expect(2, run(1, "run", self.deck, "run.steps=9"), "method.name")
        self.assertGreater(abs(self.losses()[0] - self.losses("dense")[0]), 1e-3)
        code, out, err = run(1, "eval", self.checkpoint(), "--json")
        recorded = float(self.dataset(self.path("out/results.h5"), "/runs/main/metrics/eval_loss")[-1])
        self.assertEqual(code, 0, err)
        self.assertAlmostEqual(json.loads(out)["loss"], recorded, delta=1e-5 * recorded)
        for onto in ("dequantised", "original"):
            self.expect(0, run(1, "export", self.checkpoint(), self.path(onto), "--merge", onto, "--dtype", "fp32"))
            self.assertEqual(metadata(self.path(onto))["merged_onto"].split()[0], onto)
        self.assertEqual(answer(self.checkpoint()), answer(self.path("dequantised")))

    def test_a_folder_that_bitsandbytes_has_quantised_can_be_tuned(self):
        quantised = SOURCE / "tests/data/models/tinystories-656K-nf4"
        deck = [self.deck, "method={name: qlora, rank: 4, alpha: 8}"]
        self.expect(0, run(1, "run", *deck, "run.output=" + self.path("ours")))
        self.expect(0, run(1, "run", *deck, "model.path=%s" % quantised, "run.output=" + self.path("theirs")))
        for ours, theirs in zip(self.losses("ours"), self.losses("theirs")):
            self.assertAlmostEqual(ours, theirs, delta=1e-4)
        self.expect(2, run(1, "run", self.deck, "model.path=%s" % quantised), "stored in 4 bits.*method.name=qlora")
        self.expect(2, run(1, "export", self.checkpoint("theirs"), self.path("x"), "--merge", "original"),
                    "its base model is stored in 4 bits")

    def test_preference_pairs_train_a_model_that_every_command_takes(self):
        source = SOURCE / "inputs/text/instruction-data-with-preference.json"
        self.expect(0, run(2, "prepare", "text", "--type", "preference", "--tokenizer", self.model, "--in", str(source),
                           "--split", "0.1", "-o", self.path("pairs")))
        pairs = ["data.train=" + self.path("pairs-train*.h5"), "data.test=" + self.path("pairs-test*.h5"),
                 "data.limit=40", "evaluate.limit=20", "evaluate.at_start=true"]
        for method, reference in (("lora-dpo, rank: 4", "cached"), ("dpo", "copy")):
            output = self.path(method[:4])
            method = "method={name: %s, reference: %s}" % (method, reference)
            deck = [self.deck, *pairs, method, "run.output=" + output]
            self.expect(0, run(2, "run", *deck), "reward margin")
            losses = self.losses(output)
            self.assertAlmostEqual(losses[0], 0.693147, delta=1e-5)
            self.assertLess(losses[-1], 0.69)
            code, out, err = run(1, "eval", self.checkpoint(output), "--json")
            self.assertEqual(code, 0, err)
            for name, found in (("loss", "eval_loss"), ("reward_margin", "eval_reward_margin")):
                recorded = self.dataset(output + "/results.h5", "/runs/main/metrics/" + found)[-1]
                self.assertAlmostEqual(json.loads(out)[name], float(recorded), delta=1e-5)
            self.expect(0, run(1, "generate", self.checkpoint(output), "--greedy", "--max-new", "5", "Hello"))
            self.expect(0, run(1, "export", self.checkpoint(output), output + "/exported"))
            kind = "adapter_model" if "lora" in method else "model"
            self.assertTrue(Path(output, "exported", kind + ".safetensors").exists())
        self.expect(4, run(1, "run", self.deck, "method={name: lora-dpo}"), "holds no preference pairs")
        self.expect(0, run(1, "run", self.deck, *pairs), "chosen answers of preference pairs")

    def test_targets_may_be_spelt_as_the_adapter_does_not(self):
        self.expect(0, run(1, "run", self.deck, "run.steps=1"))
        self.expect(0, run(1, "export", self.checkpoint(step=1), self.path("adapter")))
        again = ("run", self.deck, "run.steps=1", "run.resume=never", "model.adapter=" + self.path("adapter"))
        self.expect(0, run(1, *again, "method.targets=all-linear"))
        self.expect(2, run(1, *again, "method.targets=[q_proj]"), r"method\.targets is q_proj, but the adapter's is")

    def test_an_exported_adapter_answers_with_the_template_of_its_training(self):
        def answer(*words):
            code, out, err = run(1, "generate", *words, "--greedy", "--json", "--max-new", "5", "Name a colour.")
            self.assertEqual(code, 0, err)
            return json.loads(out), err
        self.expect(0, run(1, "run", self.deck))
        self.expect(0, run(1, "export", self.checkpoint(), self.path("adapter")))
        self.expect(0, run(1, "export", self.checkpoint(), self.path("merged"), "--merge", "original"))
        of_checkpoint = answer(self.checkpoint())[0]
        for words in ((self.model, "--adapter", self.path("adapter")), (self.path("merged"),),
                      (self.model, "--adapter", self.path("adapter"), "--template", "alpaca")):
            self.assertEqual(answer(*words)[0]["prompt_ids"], of_checkpoint["prompt_ids"])
        base, err = answer(self.model)
        self.assertNotEqual(base["prompt_ids"], of_checkpoint["prompt_ids"])
        self.assertIn("no template is known", err)
        self.assertIn("template alpaca (as requested)", answer(self.model, "--template", "alpaca")[1])
        self.assertIn("that of the training", answer(self.checkpoint())[1])

    def test_the_study_reads_what_a_dry_run_says(self):
        _, _, err = self.expect(0, run(2, "run", self.deck, "data.test=null", "evaluate.at_start=false",
                                       "evaluate.every_steps=0", "--dry-run"))
        script = (SOURCE / "scripts/study_llm.sh").read_text()
        function = re.search(r"^numbers_of\(\) \{.*?^\}$", script, re.M | re.S)[0]
        read = subprocess.run(["bash", "-c", function + "\nnumbers_of"], input=err, capture_output=True, text=True)
        self.assertRegex(read.stdout, r"^\d+ \d+ \d+ [\d.]+\n$", err)

    def test_prompts_have_the_date_of_the_training_data(self):
        self.model = str(self.changed_model("dated"))
        self.write_deck()
        Path(self.model, "chat_template.jinja").write_text(
            "{% if strftime_now('%Y') == '2024' %}{{ raise_exception('undated') }}{% endif %}"
            "{% for m in messages %}{{ strftime_now('%d') }}{{ m.content }};{% endfor %}")
        record = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
        Path(self.path("chat.jsonl")).write_text((json.dumps(record) + "\n") * 8)
        self.expect(0, run(1, "prepare", "text", "--type", "chat", "--tokenizer", self.model, "--in",
                           self.path("chat.jsonl"), "--date", "2026-02-03", "-o", self.path("chat")))

        def prompt_ids(*words):
            _, out, _ = self.expect(0, run(1, "generate", *words, "--json", "--max-new", "1", "Hi"))
            return json.loads(out)["prompt_ids"]
        self.expect(0, run(1, "run", self.deck, "run.steps=1", "data.train=" + self.path("chat*.h5"), "data.test=null",
                           "evaluate={prompts: [Hi], max_new: 2, every_epochs: 0}"))
        self.expect(0, run(1, "export", self.checkpoint(step=1), self.path("adapter")))
        self.expect(0, run(1, "export", self.checkpoint(step=1), self.path("merged"), "--merge", "original"))
        dated = prompt_ids(self.model, "--date", "2026-02-03")
        for words in ((self.checkpoint(step=1),), (self.model, "--adapter", self.path("adapter")),
                      (self.path("merged"),)):
            self.assertEqual(prompt_ids(*words), dated)
            self.assertNotEqual(prompt_ids(*words, "--date", "2026-02-04"), dated)

    def test_another_base_model_is_refused(self):
        self.model = str(self.changed_model("base"))
        self.write_deck()
        self.expect(0, run(1, "run", self.deck, "run.steps=2"))
        checkpoint = self.checkpoint(step=2)
        weights = Path(self.model, "model.safetensors")
        content = bytearray(weights.read_bytes())
        content[-1] ^= 1
        weights.write_bytes(content)
        self.expect(4, run(1, "generate", checkpoint, "--max-new", "2", "x"), "not the model that")
        self.expect(4, run(2, "eval", checkpoint), "not the model that")
        shutil.rmtree(self.model)
        self.expect(4, run(1, "generate", checkpoint, "x"), "--adapter " + checkpoint)

    def test_what_is_wrong_with_a_deck_is_said(self):
        self.expect(2, run(2, "run", self.deck, "run.cuda_graph=true"), "true is not available in this version")
        self.expect(2, run(1, "run", self.deck, "method.targets=[nothing]"), "nothing")
        self.expect(2, run(1, "run", self.deck, "data.image_size=32"), "belongs to task image")
        self.expect(4, run(2, "run", self.deck, "model.path=" + self.path("none")), "none")
        self.expect(4, run(1, "run", self.deck, "data.train=" + self.path("none*.h5")), "none")
        self.expect(4, run(2, "run", self.deck, "data.overlong=error", "data.max_length=90"), "sequence")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
