#!/usr/bin/env python3
"""Every key that transformers and PEFT read or write has a row in the tables of `multicard help formats`.

usage: formats_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import dataclasses
import os
import re
import subprocess
import sys
import unittest

import peft
import transformers
from transformers.modeling_rope_utils import RopeParameters

MULTICARD = os.path.join(os.environ["MULTICARD_BIN"], "multicard")
CLASSES = {"llama": transformers.LlamaConfig, "mistral": transformers.MistralConfig, "qwen2": transformers.Qwen2Config,
           "qwen3": transformers.Qwen3Config}
ROW = re.compile(r"^\| `([^`]+)` \| (used|refused|named|left out) \| \S", re.MULTILINE)


def tables():
    """{format: {key: what becomes of it}}"""
    printed = subprocess.run([MULTICARD, "help", "formats", "--markdown"], check=True, capture_output=True, text=True)
    blocks = re.findall(r"<!-- keys of format ([\w-]+) -->\n(.*?)<!-- end of keys -->", printed.stdout, re.DOTALL)
    return {name: dict(ROW.findall(rows)) for name, rows in blocks}


def attributes_of(config_class):
    """What a file can set: fields, what is saved, and properties that can be set."""
    config = config_class()
    properties = {name for parent in config_class.__mro__ for name, value in vars(parent).items()
                  if isinstance(value, property) and value.fset}
    fields = {field.name for field in dataclasses.fields(config_class)}
    # Heterogeneous models are configured by per_layer_config; these two say how that is written and read.
    return (fields | set(config.to_dict()) | properties) - {"serialize_explicit_per_layer_config",
                                                            "allow_global_per_layer_attribute_access"}


class Formats(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tables = tables()

    def check(self, names, *formats):
        known = {key for name in formats for key in self.tables[name]}
        self.assertGreater(len(names), 3)
        self.assertEqual(sorted(set(names) - known), [], "keys without a row in " + " and ".join(formats))

    def test_model_configurations(self):
        for name, config_class in CLASSES.items():
            with self.subTest(name):
                self.check(attributes_of(config_class), "config", name)

    def test_configurations_of_generation(self):
        self.check(vars(transformers.GenerationConfig()), "generation")
        self.check(transformers.GenerationConfig()._get_default_generation_params(), "generation")

    def test_rotary_positions(self):
        self.check(RopeParameters.__annotations__, "rope")

    def test_quantised_weights(self):
        self.check(transformers.BitsAndBytesConfig(load_in_4bit=True).to_dict(), "nf4")

    def test_adapters(self):
        self.check({field.name for field in dataclasses.fields(peft.LoraConfig)} |
                   set(peft.LoraConfig(target_modules=["q_proj"]).to_dict()), "adapter")

    def test_special_tokens(self):
        names = transformers.PreTrainedTokenizerFast.SPECIAL_TOKENS_ATTRIBUTES
        for table in ("tokenizer-config", "special-tokens-map"):
            self.check(names, table)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
