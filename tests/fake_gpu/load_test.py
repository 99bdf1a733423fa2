#!/usr/bin/env python3
"""Model folders of Llama-3-70B's widths, all holes, whose weights are split: what each rank reads of them and holds.

usage: load_test.py NAME   runs one test class; see fake_run.py. With MULTICARD_TEST_FULL=1 the model has all 80 layers,
                           141 GB in files that take no room on the disk, and is tuned on 8 ranks
"""

import json
import os
import re
import shutil
import struct
import tempfile
import unittest
from pathlib import Path

from decks import Inputs
from fake_run import main, run

FULL = os.environ.get("MULTICARD_TEST_FULL") == "1"
LAYERS, RANKS = (80, 8) if FULL else (4, 4)
BF16, FILE_BYTES = 2, 5e9
METHODS = {"lora": "lora, rank: 16, alpha: 32, targets: all-linear", "full": "full"}


def tensors_of(config):
    """Names and shapes."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    keys = config["head_dim"] * config["num_key_value_heads"]
    end = [config["vocab_size"], hidden]
    ends = {"model.embed_tokens.weight": end, "lm_head.weight": end, "model.norm.weight": [hidden]}
    block = {"self_attn.q_proj": [hidden, hidden], "self_attn.k_proj": [keys, hidden],
             "self_attn.v_proj": [keys, hidden], "self_attn.o_proj": [hidden, hidden], "mlp.gate_proj": [inner, hidden],
             "mlp.up_proj": [inner, hidden], "mlp.down_proj": [hidden, inner], "input_layernorm": [hidden],
             "post_attention_layernorm": [hidden]}
    layers = {"model.layers.%d.%s.weight" % (layer, name): shape
              for layer in range(config["num_hidden_layers"]) for name, shape in block.items()}
    return ends, layers


def bytes_of(tensors):
    return BF16 * sum(shape[0] * (shape[1] if len(shape) > 1 else 1) for shape in tensors.values())


def write_holes(folder, config):
    """A folder of safetensors files without values."""
    Path(folder, "config.json").write_text(json.dumps(config))
    files, size = [{}], 0
    for tensors in tensors_of(config):
        for name, shape in tensors.items():
            number = bytes_of({name: shape})
            if size + number > FILE_BYTES:
                files.append({})
                size = 0
            files[-1][name] = {"dtype": "BF16", "shape": shape, "data_offsets": [size, size + number]}
            size += number
    names = ["model-%05d-of-%05d.safetensors" % (i + 1, len(files)) for i in range(len(files))]
    for name, header in zip(names, files):
        text = json.dumps(header).encode()
        with open(Path(folder, name), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            file.truncate(8 + len(text) + max(entry["data_offsets"][1] for entry in header.values()))
    places = {tensor: name for name, header in zip(names, files) for tensor in header}
    Path(folder, "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))


class SlicedLoading(unittest.TestCase):
    def test_a_rank_reads_and_holds_its_part(self):
        folder = tempfile.mkdtemp(prefix="multicard-fake-load-")
        self.addCleanup(shutil.rmtree, folder, True)
        inputs = Inputs(folder)
        config = {**inputs.shape("llama3_70b_shape")[1], "num_hidden_layers": LAYERS}
        model = inputs.made("model", lambda to: write_holes(to, config))
        ends, layers = map(bytes_of, tensors_of(config))
        for method, words in METHODS.items():
            with self.subTest(method=method):
                code, _, err = run(
                    RANKS, "run", Path(os.environ["MULTICARD_SOURCE"], "inputs/llm/lora.yaml"), "run.device=cuda",
                    inputs.rows(config, 64, 64), "data.test=null", "data.max_length=64", "model.path=%s" % model,
                    "model.activation_checkpointing=true", "method={name: %s}" % words, "parallel.shard=full",
                    "evaluate={at_start: false, every_epochs: 0, prompts: []}", "run.epochs=null", "run.steps=1",
                    "run.global_batch=%d" % RANKS, "run.keep_checkpoints=0", "run.checkpoint_every=0",
                    "run.resume=never", "run.output=%s/out" % folder, memory_mib=200_000, largest_copy_mib=1,
                    timeout=1800)
                self.assertEqual(code, 0, err)
                said = re.search(r"sharding +full over .*; ([\d.]+) (MB|GB) of files read by rank 0", err)
                read, unit = said.groups()
                read = float(read) * {"MB": 1e6, "GB": 1e9}[unit]
                whole, split = (ends, layers) if method == "lora" else (0, ends + layers)
                print("      %s: %.2f of %.2f GB read" % (method, read / 1e9, (ends + layers) / 1e9))
                self.assertLessEqual(read, split / RANKS + whole + 0.01 * (ends + layers))
                self.assertGreaterEqual(read, 0.99 * (split / RANKS + whole))


if __name__ == "__main__":
    main()
