#!/usr/bin/env python3
"""multicard export as a person runs it: folders, exit codes, messages. Standard library only; tests/peers compares the
content with PEFT and transformers.

usage: export_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import hashlib
import json
import os
import shutil
import struct
import sys
import unittest
from pathlib import Path

from command_test import CommandTest, run

DATA = Path(__file__).resolve().parents[1] / "data"
BASE, ADAPTER = DATA / "models" / "tinystories-656K", DATA / "oracles" / "lora" / "adapter_final"


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def parts(path):
    """Header and data of a safetensors file."""
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        return json.loads(file.read(length)), file.read()


def tensors(path):
    """Name -> (dtype, shape) of a safetensors file."""
    return {name: (value["dtype"], value["shape"]) for name, value in parts(path)[0].items() if name != "__metadata__"}


class Export(CommandTest):
    def checkpoint(self, base=BASE, base_hash=None, task="llm"):
        """What a run of LoRA leaves."""
        folder = Path(self.path("step_00000020"))
        shutil.copytree(ADAPTER, folder, dirs_exist_ok=True)
        weights = folder / "adapter_model.safetensors"
        files = {weights.name: {"bytes": weights.stat().st_size, "sha256": digest(weights)}}
        deck = "task: %s\nmodel: {path: \"%s\"}\nmethod: {name: lora}\n" % (task, base)
        state = {"format": "multicard-checkpoint", "schema_version": 1, "step": 20, "samples_seen": 80,
                 "global_batch": 4, "extra": {}, "files": files, "deck": deck,
                 "text": {"base_model_sha256": base_hash or digest(BASE / "model.safetensors")}}
        (folder / "trainer.json").write_text(json.dumps(state))
        (folder / "COMPLETE").touch()
        return str(folder)

    def files(self, name):
        return sorted(os.listdir(self.path(name)))

    def test_without_merge_it_is_an_adapter_folder(self):
        for ranks in (1, 2):
            out = "out%d/adapter" % ranks
            self.expect(0, run(ranks, "export", self.checkpoint() + "/", self.path(out) + "/"), "PEFT adapter",
                        r"adapter +14 adapted linear layers, rank 8, scaling 2, for ")
            self.assertEqual(self.files(out), ["adapter_config.json", "adapter_model.safetensors"])
            header, data = parts(self.path(out + "/adapter_model.safetensors"))
            self.assertEqual(header.pop("__metadata__"), {
                "format": "pt", "multicard_base_sha256": digest(BASE / "model.safetensors")})
            trained_header, trained_data = parts(ADAPTER / "adapter_model.safetensors")
            trained_header.pop("__metadata__")
            self.assertEqual((header, data), (trained_header, trained_data))
            self.assertEqual(self.files("out%d" % ranks), ["adapter"])
            config = json.loads(Path(self.path(out + "/adapter_config.json")).read_text())
            self.assertEqual((config["r"], config["lora_alpha"]), (8, 16))

    def test_with_merge_it_is_a_model_folder(self):
        os.mkdir(self.path("empty"))
        merge = ["--merge", "original", "--dtype", "bf16"]
        self.expect(0, run(1, "export", self.checkpoint(), self.path("empty"), *merge),
                    "20 tensors, 1.31 MB as BF16", "Hugging Face model")
        self.assertEqual(self.files("empty"), ["config.json", "generation_config.json", "model.safetensors",
                                               "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json"])
        found = tensors(self.path("empty/model.safetensors"))
        self.assertEqual(found["model.embed_tokens.weight"], ("BF16", [2048, 128]))
        self.assertNotIn("lm_head.weight", found)
        self.assertEqual(len(found), 20)
        config = json.loads(Path(self.path("empty/config.json")).read_text())
        self.assertEqual(config["torch_dtype"], "bfloat16")

    def test_a_whole_model_can_be_stored_in_nf4(self):
        checkpoint, merge = self.checkpoint(), ["--merge", "original"]
        self.expect(0, run(1, "export", checkpoint, self.path("nf4"), *merge, "--nf4"), "NF4 and F32")
        found = tensors(self.path("nf4/model.safetensors"))
        weight = "model.layers.1.mlp.down_proj.weight"
        self.assertEqual({name[len(weight):]: dtype for name, (dtype, _) in found.items() if name.startswith(weight)},
                         {"": "U8", ".absmax": "U8", ".quant_map": "F32", ".nested_absmax": "F32",
                          ".nested_quant_map": "F32", ".quant_state.bitsandbytes__nf4": "U8"})
        self.assertEqual(found["model.embed_tokens.weight"], ("F32", [2048, 128]))
        config = json.loads(Path(self.path("nf4/config.json")).read_text())
        self.assertEqual(config["quantization_config"]["bnb_4bit_quant_type"], "nf4")
        self.expect(0, run(1, "generate", self.path("nf4"), "--raw", "--greedy", "--max-new", "20", "Once upon a"))

        self.expect(2, run(1, "export", checkpoint, self.path("none"), "--nf4"), "--nf4 is given for an adapter")
        self.expect(2, run(1, "export", checkpoint, self.path("none"), *merge, "--nf4", "--int4"), "exclude each other")

    def test_an_adapter_can_be_converted(self):
        self.expect(0, run(1, "export", self.checkpoint(), self.path("out"), "--dtype", "bf16"))
        found = tensors(self.path("out/adapter_model.safetensors"))
        self.assertEqual({dtype for dtype, _ in found.values()}, {"BF16"})

    def test_a_folder_in_use_is_not_touched(self):
        Path(self.path("mine")).mkdir()
        Path(self.path("mine/precious")).touch()
        self.expect(4, run(2, "export", self.checkpoint(), self.path("mine")), "is there already", "Name a new folder")
        self.assertEqual(self.files("mine"), ["precious"])

    def test_another_base_model_is_refused(self):
        self.expect(4, run(1, "export", self.checkpoint(base_hash="0" * 64), self.path("out"), "--merge", "original"),
                    "is not the model that")
        self.expect(4, run(1, "export", self.checkpoint(base=self.path("none")), self.path("out"), "--merge",
                           "original"), "none")
        self.assertFalse(os.path.exists(self.path("out")))
        self.assertEqual([name for name in os.listdir(self.scratch) if name.startswith(".")], [])

    def test_nothing_is_generated_with_another_base_model(self):
        checkpoint = self.checkpoint(base_hash="0" * 64)
        self.expect(0, run(1, "export", checkpoint, self.path("adapter")))
        for model in ([checkpoint], [str(BASE), "--adapter", self.path("adapter")]):
            for words in ([], ["--json"]):
                _, out, _ = self.expect(4, run(1, "generate", *model, "--raw", "--greedy", "--max-new", "8", *words,
                                               "Once upon a"), "is not the model that")
                self.assertEqual(out, "")

    def test_what_cannot_be_exported_is_said(self):
        checkpoint = self.checkpoint()
        self.expect(2, run(1, "export", checkpoint, self.path("out"), "--merge", "dequantised"), "was not quantised")
        self.expect(2, run(1, "export", checkpoint, self.path("out"), "--merge", "both"), "--merge")
        self.expect(2, run(1, "export", checkpoint, self.path("out"), "--dtype", "int8"), "--dtype")
        self.expect(2, run(1, "export", checkpoint))
        self.expect(4, run(1, "export", self.path("none"), self.path("out")), "none does not exist")
        self.expect(2, run(1, "export", self.checkpoint(task="image"), self.path("out")),
                    "not a checkpoint of a language")
        self.checkpoint()
        with open(checkpoint + "/adapter_model.safetensors", "r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"x")
        self.expect(4, run(2, "export", checkpoint, self.path("out")), "has changed since it was written")
        self.assertFalse(os.path.exists(self.path("out")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[1:2])
