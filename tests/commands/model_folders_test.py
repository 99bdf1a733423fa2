#!/usr/bin/env python3
"""Model folders and adapters as others save them: they mean the same here, or are refused or named. Standard library
only.

usage: model_folders_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import os
import re
import shutil
import struct
import sys
import unittest
from pathlib import Path

from command_test import CommandTest, run

SOURCE = Path(os.environ["MULTICARD_SOURCE"])
MODEL = SOURCE / "tests/data/models/tinystories-656K"
NF4_MODEL = Path(str(MODEL) + "-nf4")
ADAPTER = SOURCE / "tests/data/oracles/lora/adapter_final"
DECK = """\
task: llm
precision: fp32
model: {path: "MODEL", dtype: fp32}
method: {name: METHOD}
data: {train: "SCRATCH/tokens*.h5", test: "SCRATCH/tokens*.h5"}
optimizer: {name: adamw, learning_rate: 1.0e-3}
run: {output: "SCRATCH/out", steps: 1, global_batch: 2}
"""


def read_tensors(path):
    """{name: (dtype, shape, bytes)} of a safetensors file."""
    content = Path(path).read_bytes()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    entries = json.loads(content[8:start])
    entries.pop("__metadata__", None)
    return {name: (entry["dtype"], entry["shape"], content[start:][slice(*entry["data_offsets"])])
            for name, entry in entries.items()}


def write_tensors(path, tensors, metadata="none"):
    header, at = {} if metadata == "none" else {"__metadata__": metadata}, 0
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(content)]}
        at += len(content)
    text = json.dumps(header).encode()
    Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


class FolderCase(CommandTest):
    """A copy of a model that a test changes, and its loss."""

    def setUp(self):
        super().setUp()
        self.folder = self.copied(MODEL)
        records = [[1] + [(7 * row * at + 13 * at + 3) % 2048 for at in range(1, 40)] for row in (1, 2)]
        Path(self.path("tokens.jsonl")).write_text("".join(
            json.dumps({"input_ids": ids, "labels": ids}) + "\n" for ids in records))
        self.expect(0, run(1, "prepare", "text", "--type", "tokens", "--in", self.path("tokens.jsonl"), "-o",
                           self.path("tokens")))

    def copied(self, model):
        folder = self.path(model.name)
        shutil.copytree(model, folder)
        return Path(folder)

    def change(self, file="config.json", folder=None, **values):
        """Sets keys of a JSON file; None removes one."""
        path = (folder or self.folder) / file
        content = json.loads(path.read_text()) if path.exists() else {}
        content.update(values)
        path.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))

    def rewrite(self, change, metadata="none"):
        """Replaces the weights by those that `change` makes of them."""
        path = self.folder / "model.safetensors"
        write_tensors(path, change(read_tensors(path)), metadata)

    def evaluate(self, *words, method="full"):
        deck = DECK.replace("MODEL", str(self.folder)).replace("METHOD", method).replace("SCRATCH", self.scratch)
        Path(self.deck).write_text(deck)
        return run(1, "eval", self.deck, "--json", *words)

    def loss(self, *words, method="full"):
        _, out, _ = self.expect(0, self.evaluate(*words, method=method))
        return json.loads(out)["loss"]

    def generated(self):
        return self.expect(0, run(1, "generate", str(self.folder), "--raw", "--greedy", "--max-new", "4",
                                  "Once upon a time"))


class Weights(FolderCase):
    def test_without_the_prefix_of_the_model(self):
        expected = self.loss()
        self.rewrite(lambda tensors: {name.replace("lm_head", "embed_tokens").removeprefix("model."): tensor
                                      for name, tensor in tensors.items()})
        self.change(architectures=["LlamaModel"])

        self.assertEqual(self.loss(), expected)

        half = {"a": {}, "b": {}}
        for number, (name, tensor) in enumerate(read_tensors(self.folder / "model.safetensors").items()):
            half["ab"[number % 2]][name] = tensor
        for part, tensors in half.items():
            write_tensors(self.folder / (part + ".safetensors"), tensors)
        (self.folder / "model.safetensors").unlink()
        places = {name: part + ".safetensors" for part, tensors in half.items() for name in tensors}
        (self.folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}))
        self.assertEqual(self.loss(), expected)

    def test_with_an_index_that_names_a_tied_head_and_without_metadata(self):
        expected = self.loss()
        self.rewrite(lambda tensors: tensors, metadata=None)
        names = list(read_tensors(self.folder / "model.safetensors")) + ["lm_head.weight"]
        os.rename(self.folder / "model.safetensors", self.folder / "part.safetensors")
        (self.folder / "model.safetensors.index.json").write_text(
            json.dumps({"metadata": {}, "weight_map": {name: "part.safetensors" for name in names}}))

        self.assertEqual(self.loss(), expected)

    def test_with_a_head_that_differs_from_tied_embeddings(self):
        tied = self.loss()

        def with_head(tensors):
            dtype, shape, content = tensors["lm_head.weight"]
            half = len(content) // 2
            return {**tensors, "model.embed_tokens.weight": (dtype, shape, content[half:] + content[:half])}

        self.rewrite(with_head)
        self.expect(4, self.evaluate(), "lm_head.weight .*tie_word_embeddings")
        self.change(tie_word_embeddings=False)
        self.assertGreater(abs(self.loss() - tied), 1e-3)

    def test_that_others_have_packed(self):
        self.rewrite(lambda tensors: {name.replace("q_proj.weight", "q_proj.qweight"): tensor
                                      for name, tensor in tensors.items()})

        self.expect(4, self.evaluate(), r"weights packed by GPTQ or AWQ \(its tensors include .*q_proj\.qweight\)")

    def test_that_nf4_keeps_whole(self):
        self.folder = self.copied(NF4_MODEL)
        whole = {name: tensor for name, tensor in read_tensors(MODEL / "model.safetensors").items()
                 if name.startswith("model.layers.1.mlp.")}
        packed, needed = self.loss(method="qlora"), self.megabytes_of_qlora()
        self.rewrite(lambda tensors: {name: tensor for name, tensor in tensors.items()
                                      if not name.startswith("model.layers.1.mlp.")} | whole)

        self.assertGreater(abs(self.loss(method="qlora") - packed), 1e-3)
        # Three matrices of 128 x 384 in 32 bits instead of 4.127.
        self.assertAlmostEqual(self.megabytes_of_qlora() - needed, 3 * 128 * 384 * (32 - 4.127) / 8e6, delta=0.11)

    def megabytes_of_qlora(self):
        _, _, err = self.expect(0, run(1, "run", self.deck, "--what-fits"))
        return float(re.search(r"qlora +on +([\d.]+) MB", err).group(1))

    def test_in_nf4_whose_bytes_pass_for_other_numbers(self):
        self.folder = self.copied(NF4_MODEL)
        expected = self.loss(method="qlora")
        original = read_tensors(self.folder / "model.safetensors")
        for name, size in (("BF16", 2), ("F16", 2), ("F32", 4)):
            write_tensors(self.folder / "model.safetensors", {
                tensor: (name, [shape[0] // size, 1], data) if tensor + ".absmax" in original else (dtype, shape, data)
                for tensor, (dtype, shape, data) in original.items()})
            with self.subTest(name):
                self.assertEqual(self.loss(method="qlora"), expected)


class Configuration(FolderCase):
    def test_of_rotary_positions(self):
        plain = self.loss()
        self.change(rope_scaling={"type": "dynamic", "factor": 2.0})
        self.assertEqual(self.loss(), plain)
        scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
        self.change(rope_scaling={**scaling, "original_max_position_embeddings": 64})
        inside = self.loss()
        self.change(rope_scaling=scaling, original_max_position_embeddings=64)
        self.assertEqual(self.loss(), inside)
        self.assertGreater(abs(inside - plain), 1e-4)
        self.change(original_max_position_embeddings=None, rope_scaling={"rope_type": "yarn", "factor": 4.0})
        self.assertGreater(abs(self.loss() - plain), 1e-4)
        self.change(rope_scaling={"rope_type": "longrope", "factor": 4.0})
        self.expect(4, self.evaluate(), "rope_scaling.rope_type cannot be used .*longrope.*yarn and dynamic are")

    def test_of_training_alone(self):
        expected = self.loss()
        self.change(attention_dropout=0.1)
        self.assertEqual(self.loss(), expected)
        self.generated()
        self.expect(4, run(1, "run", self.deck), "attention_dropout 0.1, which is not supported")

    def test_with_unknown_keys(self):
        self.change(rms_norm_epsilon=1e-3)
        self.change("generation_config.json", no_repeat_ngram_size=2)
        for _, _, err in (self.expect(0, self.evaluate()), self.generated()):
            said = "rms_norm_epsilon is not read: no such key is known; did you mean rms_norm_eps?"
            self.assertEqual(err.count(said), 1)
        self.assertEqual(self.generated()[2].count("no_repeat_ngram_size is not read"), 1)

    def test_of_another_network(self):
        for key, value in (("num_local_experts", 8), ("attn_logit_softcapping", 50.0), ("hidden_act", "gelu"),
                           ("model_type", "mistral"), ("vocab_size", "2048")):
            with self.subTest(key):
                before = (self.folder / "config.json").read_text()
                self.change(**{key: value})
                self.expect(4, self.evaluate(), "config.json: %s cannot be used" % key)
                (self.folder / "config.json").write_text(before)


class Tokens(FolderCase):
    def test_beyond_the_vocabulary(self):
        tokenizer = json.loads((self.folder / "tokenizer.json").read_text())
        tokenizer["added_tokens"].append({"id": 2048, "content": "<new>", "single_word": False, "lstrip": False,
                                          "rstrip": False, "normalized": False, "special": True})
        (self.folder / "tokenizer.json").write_text(json.dumps(tokenizer))

        self.expect(4, run(1, "generate", str(self.folder), "--raw", "Once <new> upon"), "2048")

    def test_of_files_with_other_keys(self):
        tokenizer = json.loads((self.folder / "tokenizer.json").read_text())
        tokenizer["model"]["of_tomorrow"] = 1
        (self.folder / "tokenizer.json").write_text(json.dumps(tokenizer))
        self.change("tokenizer_config.json", add_eos_token=True, added_tokens_decoder={"2048": {"content": "<new>"}})
        _, _, err = self.generated()
        for text in ("model.of_tomorrow is not read: no such key is known",
                     'has the tokens "<new>", which tokenizer.json lacks',
                     "add_bos_token and add_eos_token ask for other tokens around a text"):
            self.assertEqual(err.count(text), 1, err)
        self.change("tokenizer_config.json", split_special_tokens=True)
        self.expect(4, run(1, "generate", str(self.folder), "x"), "tokenizer_config.json: split_special_tokens cannot")

    def test_that_end_a_text_by_the_map_alone(self):
        names = {"bos_token": "<|start_story|>", "eos_token": "<unk>"}
        (self.folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "LlamaTokenizer"}))
        (self.folder / "special_tokens_map.json").write_text(json.dumps(names))
        records = self.path("answers.jsonl")
        Path(records).write_text(json.dumps({"prompt": "Once", "completion": " upon"}) + "\n")
        self.expect(0, run(1, "prepare", "text", "--type", "prompt-completion", "--template", "plain", "--tokenizer",
                           str(self.folder), "--in", records, "-o", self.path("answers")))
        self.assertEqual(self.dataset(self.path("answers-00000-of-00001.h5"), "/tokens")[-1], "0")


class Adapters(FolderCase):
    def setUp(self):
        super().setUp()
        self.adapter = self.copied(ADAPTER)
        self.word = "model.adapter=%s" % self.adapter

    def test_with_an_adapter_s_name_in_their_tensors(self):
        expected = self.loss(self.word, method="lora")
        path = self.adapter / "adapter_model.safetensors"
        write_tensors(path, {name.replace(".weight", ".default.weight"): tensor
                             for name, tensor in read_tensors(path).items()})

        self.assertEqual(self.loss(self.word, method="lora"), expected)

    def test_with_other_settings(self):
        expected = self.loss(self.word, method="lora")
        config = json.loads((self.adapter / "adapter_config.json").read_text())
        self.change("adapter_config.json", self.adapter, target_modules=config["target_modules"] + ["of_another_model"],
                    lora_alhpa=3, corda_config={"x": 1})
        _, out, err = self.expect(0, self.evaluate(self.word, method="lora"))
        self.assertEqual(json.loads(out)["loss"], expected)
        self.assertEqual(err.count("lora_alhpa is not read: no such key is known; did you mean lora_alpha?"), 1)
        self.change("adapter_config.json", self.adapter, kasa_config={"x": 1})
        self.expect(4, self.evaluate(self.word, method="lora"), "adapter_config.json: kasa_config cannot be used")


class Hub(FolderCase):
    def test_names_are_found_in_the_local_cache(self):
        model = Path(self.path("home/hub/models--some-org--Tiny"))
        (model / "refs").mkdir(parents=True)
        (model / "refs/main").write_text("0123abcd")
        (model / "snapshots").mkdir()
        shutil.copytree(MODEL, model / "snapshots/0123abcd")
        home = {**os.environ, "HF_HOME": self.path("home")}
        home.pop("HF_HUB_CACHE", None)
        words = ("generate", "some-org/Tiny", "--raw", "--greedy", "--max-new", "4", "Once upon a time")

        _, out, _ = self.expect(0, run(1, *words, env=home))

        self.assertEqual(out, self.generated()[1])
        self.expect(0, run(1, "eval", self.tuned(), "model.path=some-org/Tiny", env=home))
        self.expect(4, run(1, *words, env={**home, "HF_HOME": self.path("none")}), "hf download some-org/Tiny")
        for command in (["eval", self.deck, "model.path=some-org/Other"], ["tokenize", "some-org/Other"]):
            self.expect(4, run(1, *command, env=home, stdin=-3), "hf download some-org/Other")

    def tuned(self):
        self.loss()  # writes the deck
        return self.deck


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
