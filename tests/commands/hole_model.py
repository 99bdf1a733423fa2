"""Model folders of large shapes without values: safetensors files that are holes, which take no room on a disk."""

import json
import math
import struct
from pathlib import Path

BF16, FILE_BYTES = 2, 5e9


def tensors_of(config):
    """Names and shapes: of embedding, output layer and last norm, and of the blocks."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    keys = hidden // config["num_attention_heads"] * config["num_key_value_heads"]
    end = [config["vocab_size"], hidden]
    ends = {"model.embed_tokens.weight": end, "model.norm.weight": [hidden]}
    if not config["tie_word_embeddings"]:
        ends["lm_head.weight"] = end
    block = {"self_attn.q_proj": [hidden, hidden], "self_attn.k_proj": [keys, hidden],
             "self_attn.v_proj": [keys, hidden], "self_attn.o_proj": [hidden, hidden], "mlp.gate_proj": [inner, hidden],
             "mlp.up_proj": [inner, hidden], "mlp.down_proj": [hidden, inner], "input_layernorm": [hidden],
             "post_attention_layernorm": [hidden]}
    layers = {"model.layers.%d.%s.weight" % (layer, name): shape
              for layer in range(config["num_hidden_layers"]) for name, shape in block.items()}
    return ends, layers


def bytes_of(tensors):
    return BF16 * sum(map(math.prod, tensors.values()))


def write_holes(folder, config):
    """The folder exists; files have up to FILE_BYTES."""
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
