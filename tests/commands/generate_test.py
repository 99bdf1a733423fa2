#!/usr/bin/env python3
"""multicard generate as a person runs it: one prompt or a file of them, sampling, stop strings; and a Qwen3 model from
tuning to serving. Standard library only.

usage: generate_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from command_test import MULTICARD, CommandTest, run

SOURCE = Path(os.environ["MULTICARD_SOURCE"])
MODEL = SOURCE / "tests/data/models/tinystories-656K"
QWEN3 = SOURCE / "tests/data/models/qwen3-tiny"
STORY = ("--raw", "--greedy", "--dtype", "fp32", "--max-new", "30")


class Generate(CommandTest):
    def test_continues_as_transformers_does(self):
        golden = json.loads((SOURCE / "tests/data/models/golden_tinystories.json").read_text())["TinyStories-656K"]
        new = golden["greedy_ids"][len(golden["prompt_ids"]):]
        code, out, err = run(1, "generate", str(MODEL), "--raw", "--greedy", "--json", "--dtype", "fp64", "--max-new",
                             str(len(new)), golden["prompt"])
        self.assertEqual(code, 0, err)
        answer = json.loads(out)
        self.assertEqual(answer["prompt_ids"], golden["prompt_ids"])
        self.assertEqual(answer["ids"], new)
        self.assertEqual(answer["finish"], "length")

    def test_standard_input_is_the_prompt_byte_for_byte(self):
        def prompt_ids(*words, given=None):
            done = subprocess.run([MULTICARD, "generate", str(MODEL), "--raw", "--max-new", "1", "--json", *words],
                                  input=given, capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads(done.stdout)["prompt_ids"]
        read = prompt_ids("-", given="Once upon\n")
        self.assertEqual(read, prompt_ids("Once upon\n"))
        self.assertNotEqual(read, prompt_ids("Once upon"))

    def test_the_folders_own_template_is_rendered(self):
        folder = Path(self.path("own"))
        shutil.copytree(MODEL, folder)
        template = folder / "chat_template.jinja"
        template.write_text("{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}")
        _, out, err = self.expect(0, run(1, "generate", str(folder), "--max-new", "1", "--json", "Hi"),
                                  "the model folder's chat template")
        _, raw, _ = run(1, "generate", str(folder), "--max-new", "1", "--json", "--raw", "[INST] Hi [/INST]")
        bos, *ids = json.loads(raw)["prompt_ids"]  # a template writes bos itself, or means none
        self.assertEqual((bos, json.loads(out)["prompt_ids"]), (1, ids), err)
        template.write_text("{% include 'other' %}")
        self.expect(4, run(1, "generate", str(folder), "--max-new", "1", "Hi"), "include", "--template NAME")

    def test_a_seed_repeats(self):
        def draw(seed):
            code, out, err = run(1, "generate", str(MODEL), "--raw", "--seed", seed, "--max-new", "12", "--json",
                                 "--temperature", "1.5", "Once upon a time")
            self.assertEqual(code, 0, err)
            return json.loads(out)["ids"]
        self.assertEqual(draw("5"), draw("5"))
        self.assertNotEqual(draw("5"), draw("6"))

    def test_refuses_what_it_cannot_continue(self):
        self.expect(2, run(1, "generate", str(MODEL), "--raw", "--max-new", "4000", "x"), "positions")
        self.expect(4, run(1, "generate", self.path("none"), "x"), "none")
        self.expect(2, run(1, "generate", str(MODEL), "--dtype", "int4", "x"), "int4")

    def test_a_token_beyond_the_embeddings_is_named(self):
        folder = Path(self.path("grown"))
        folder.mkdir()
        for file in MODEL.iterdir():
            (folder / file.name).symlink_to(file)
        tokenizer = json.loads((MODEL / "tokenizer.json").read_text())
        tokenizer["added_tokens"].append({"id": 2048, "content": "<new>", "single_word": False, "lstrip": False,
                                          "rstrip": False, "normalized": False, "special": True})
        (folder / "tokenizer.json").unlink()
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        self.expect(4, run(1, "generate", str(folder), "--raw", "Once <new>"), "the token 2048", "vocab_size")

    def answer(self, *words):
        code, out, err = run(1, "generate", *map(str, words), "--json")
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def answers(self, content, *words, name="prompts.jsonl"):
        """What is printed for the prompts of a file."""
        file = Path(self.path(name))
        file.write_text(content)
        code, out, err = run(1, "generate", str(MODEL), *STORY, "--prompts", str(file), *words)
        self.assertEqual(code, 0, err)
        return [json.loads(line) for line in out.splitlines()]

    def test_the_prompts_of_a_file_are_answered_as_each_alone(self):
        texts = ["Once upon a time", "The", "There was a little girl who had a big red ball and she", "x\ny", "A cat"]
        alone = [self.answer(MODEL, *STORY, text) for text in texts]
        lines = [json.dumps(text if i % 2 else {"prompt": text, "id": i}) for i, text in enumerate(texts)]
        for batch in ("1", "3", "8"):
            self.assertEqual(self.answers("\n".join(lines) + "\n", "--batch", batch), alone)
        self.assertEqual(self.answers("[" + ",".join(lines) + "]", name="prompts.json"), alone)
        self.assertEqual(self.answers("id,prompt\n1,The\n2,A cat\n", name="p.csv"), [alone[1], alone[4]])

    def test_what_is_wrong_with_prompts_is_said(self):
        file = Path(self.path("prompts.jsonl"))
        file.write_text('"good"\n{"text": "no prompt"}\n')
        self.expect(4, run(1, "generate", str(MODEL), "--prompts", str(file)), "line 2 of .*prompts.jsonl", "prompt")
        self.expect(4, run(1, "generate", str(MODEL), "--prompts", self.path("none")), "none")
        self.expect(2, run(1, "generate", str(MODEL), "--prompts", str(file), "x"), "prompt excludes --prompts")
        self.expect(2, run(1, "generate", str(MODEL)), "needs prompt or --prompts")

    def test_an_answer_ends_before_a_stop_string(self):
        whole = self.answer(MODEL, *STORY, "Once upon a time")
        words = whole["text"].split()
        stop = " " + words[5]
        end = whole["text"].index(stop)
        stopped = self.answer(MODEL, *STORY, "--stop", "no such text", "--stop", stop, "Once upon a time")
        self.assertEqual((stopped["text"], stopped["finish"]), (whole["text"][:end], "stop"))
        self.assertEqual(stopped["ids"], whole["ids"][:len(stopped["ids"])])
        code, out, _ = run(1, "generate", str(MODEL), *STORY, "--stop", stop, "Once upon a time")
        self.assertEqual((code, out), (0, whole["text"][:end] + "\n"))
        unstopped = self.answer(MODEL, *STORY, "--stop", "no such text", "Once upon a time")
        self.assertEqual(unstopped, whole)
        self.expect(2, run(1, "generate", str(MODEL), "--stop", "", "x"), "a stop string is empty")

    def test_top_k_and_the_repetition_penalty_choose_tokens(self):
        words = ("--raw", "--dtype", "fp32", "--max-new", "30")
        greedy = self.answer(MODEL, *STORY, "Once upon a time")
        self.assertEqual(self.answer(MODEL, *words, "--top-k", "1", "--seed", "9", "Once upon a time"), greedy)
        free = self.answer(MODEL, *words, "--temperature", "3", "Once upon a time")
        self.assertNotEqual(free, greedy)
        self.assertNotEqual(self.answer(MODEL, *words, "--temperature", "3", "--top-k", "2", "Once upon a time"), free)
        oracle = json.loads((SOURCE / "tests/data/oracles/generate/oracle.json").read_text())
        self.assertTrue(any(case["penalty"] == 1.3 for case in oracle["greedy"]))
        penalised = self.answer(MODEL, *STORY, "--repetition-penalty", "1000000", "Once upon a time")
        new = penalised["ids"]
        self.assertEqual(len(set(new) | set(penalised["prompt_ids"])), len(new) + len(set(penalised["prompt_ids"])))
        for option, value in (("--top-k", "-1"), ("--repetition-penalty", "0"), ("--batch", "0")):
            self.expect(2, run(1, "generate", str(MODEL), option, value, "x"), option.strip("-").replace("-", "."))
        self.expect(2, run(1, "generate", str(MODEL), "--greedy", "--top-k", "3", "x"), "excludes")


def byte_tokenizer():
    """A tokenizer.json of 256 tokens, one for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": level, "post_processor": None, "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": {letters[byte]: byte for byte in range(256)}, "merges": []}}


class Qwen3(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.path("model")
        shutil.copytree(QWEN3, self.model)
        Path(self.model, "tokenizer.json").write_text(json.dumps(byte_tokenizer()))
        rows = [{"prompt": "%d and 1 is" % i, "completion": " %d." % (i + 1)} for i in range(24)]
        Path(self.path("rows.jsonl")).write_text("\n".join(map(json.dumps, rows)))
        self.expect(0, run(1, "prepare", "text", "--type", "prompt-completion", "--tokenizer", self.model, "--in",
                           self.path("rows.jsonl"), "-o", self.path("rows")))

    def tune(self, method, output):
        Path(self.deck).write_text("\n".join([
            "task: llm", "model: {path: %s, dtype: fp32}" % self.model, "method: %s" % method,
            'data: {train: "%s"}' % self.path("rows*.h5"), "optimizer: {name: adamw, learning_rate: 0.01}",
            "run: {output: %s, steps: 4, global_batch: 8}" % self.path(output)]))
        self.expect(0, run(2, "run", self.deck))
        return self.path(output + "/checkpoints/step_00000004")

    def ids(self, model):
        _, out, _ = self.expect(0, run(1, "generate", model, "--raw", "--greedy", "--json", "--dtype", "fp32",
                                       "--max-new", "12", "7 and 1 is"))
        return json.loads(out)["ids"]

    def test_is_tuned_exported_and_continued(self):
        base = self.ids(self.model)
        for method, merge in (("{name: lora, rank: 4, alpha: 8}", ("--merge", "original")), ("{name: full}", ())):
            with self.subTest(method):
                name = "lora" if merge else "full"
                checkpoint = self.tune(method, name)
                self.expect(0, run(1, "export", checkpoint, self.path(name + "-model"), *merge))
                tuned = self.ids(checkpoint)
                self.assertNotEqual(tuned, base)
                self.assertEqual(self.ids(self.path(name + "-model")), tuned)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
