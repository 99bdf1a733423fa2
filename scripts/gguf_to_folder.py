#!/usr/bin/env python3
"""Turns a Llama-type model in one GGUF file into a Hugging Face folder with bfloat16 weights.

usage: gguf_to_folder.py MODEL.gguf FOLDER      FOLDER must not exist; needs numpy
Reads tensors stored as F32, F16, BF16, Q8_0 and Q4_1 and tokenizers of byte-level BPE with the split pattern "smollm".
GGUF: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""
import json
import os
import struct
import sys

import numpy as np

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
SPECIAL = 3  # token type
F32, F16, Q4_1, Q8_0, BF16 = 0, 1, 3, 8, 30
BLOCK = 32  # values of one quantisation block
BLOCK_BYTES = {Q4_1: 20, Q8_0: 34}
VALUE_BYTES = {F32: 4, F16: 2, BF16: 2}
SUFFIXES = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
            "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
            "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}
OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


class Gguf:
    """The keys and tensors of a file."""

    def __init__(self, path):
        self._data = np.memmap(path, np.uint8, "r")
        self._at = 0
        if bytes(self._data[:4]) != b"GGUF":
            sys.exit(f"{path} is not a GGUF file")
        self._at = 4
        version, num_tensors, num_keys = self._scalar("I"), self._scalar("Q"), self._scalar("Q")
        if version not in (2, 3):
            sys.exit(f"{path}: GGUF version {version} is not known")
        self.keys = {}
        for _ in range(num_keys):
            key = self._string()
            self.keys[key] = self._value(self._scalar("I"))
        self.tensors = {}  # name -> (shape with rows first, ggml type, offset)
        for _ in range(num_tensors):
            name = self._string()
            extents = [self._scalar("Q") for _ in range(self._scalar("I"))]
            self.tensors[name] = (tuple(reversed(extents)), self._scalar("I"), self._scalar("Q"))
        alignment = self.keys.get("general.alignment", 32)
        self._start = -(-self._at // alignment) * alignment

    def _scalar(self, code):
        size = struct.calcsize("<" + code)
        value, = struct.unpack("<" + code, self._data[self._at:self._at + size].tobytes())
        self._at += size
        return value

    def _string(self):
        length = self._scalar("Q")
        self._at += length
        return self._data[self._at - length:self._at].tobytes().decode("utf-8")

    def _value(self, kind):
        if kind == STRING:
            return self._string()
        if kind == ARRAY:
            element = self._scalar("I")
            return [self._value(element) for _ in range(self._scalar("Q"))]
        return self._scalar(SCALARS[kind])

    def tensor(self, name):
        """The values as float32."""
        shape, kind, offset = self.tensors[name]
        count = int(np.prod(shape))
        if kind in VALUE_BYTES:
            size = count * VALUE_BYTES[kind]
        elif kind in BLOCK_BYTES:
            size = count // BLOCK * BLOCK_BYTES[kind]
        else:
            sys.exit(f"tensor {name} has ggml type {kind}, which is not supported")
        raw = np.asarray(self._data[self._start + offset:self._start + offset + size])
        return dequantised(raw, kind).reshape(shape)


def dequantised(raw, kind):
    if kind == F32:
        return raw.view("<f4")
    if kind == F16:
        return raw.view("<f2").astype(np.float32)
    if kind == BF16:
        return (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)
    blocks = raw.reshape(-1, BLOCK_BYTES[kind])
    scale = blocks[:, 0:2].copy().view("<f2").astype(np.float32)
    if kind == Q8_0:
        return scale * blocks[:, 2:].copy().view(np.int8).astype(np.float32)
    least = blocks[:, 2:4].copy().view("<f2").astype(np.float32)
    nibbles = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1)  # values 0-15, then 16-31
    return scale * nibbles.astype(np.float32) + least


def as_bfloat16(values):
    """Bits rounded to the nearest, ties to even."""
    bits = np.ascontiguousarray(values, "<f4").view(np.uint32)
    return ((bits + (0x7fff + ((bits >> 16) & 1))) >> 16).astype("<u2")


def in_halves(weight, heads):
    """Rows of q and k as rotary embeddings of halves want them; GGUF has them for pairs."""
    rows, columns = weight.shape
    return weight.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def folder_name(name):
    """The Hugging Face name of a tensor."""
    stem = name.removesuffix(".weight")
    if stem in OUTSIDE:
        return OUTSIDE[stem] + ".weight"
    prefix, _, rest = stem.partition(".")
    layer, _, suffix = rest.partition(".")
    if prefix != "blk" or suffix not in SUFFIXES:
        sys.exit(f"tensor {name} belongs to no Llama-type model that is supported")
    return f"model.layers.{layer}.{SUFFIXES[suffix]}.weight"


def write_weights(gguf, path):
    heads = {"attn_q": gguf.keys["llama.attention.head_count"], "attn_k": gguf.keys["llama.attention.head_count_kv"]}
    names = sorted((folder_name(name), name) for name in gguf.tensors)
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for new, old in names:
        shape = gguf.tensors[old][0]
        size = 2 * int(np.prod(shape))
        header[new] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, old in names:
            weight = gguf.tensor(old)
            part = old.split(".")[-2]
            file.write(as_bfloat16(in_halves(weight, heads[part]) if part in heads else weight).tobytes())


def config(keys, is_tied):
    width, heads = keys["llama.embedding_length"], keys["llama.attention.head_count"]
    return {"architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
            "bos_token_id": keys["tokenizer.ggml.bos_token_id"], "eos_token_id": keys["tokenizer.ggml.eos_token_id"],
            "head_dim": width // heads, "hidden_act": "silu", "hidden_size": width, "initializer_range": 0.02,
            "intermediate_size": keys["llama.feed_forward_length"],
            "max_position_embeddings": keys["llama.context_length"], "mlp_bias": False, "model_type": "llama",
            "num_attention_heads": heads, "num_hidden_layers": keys["llama.block_count"],
            "num_key_value_heads": keys["llama.attention.head_count_kv"],
            "pad_token_id": keys["tokenizer.ggml.padding_token_id"],
            "rms_norm_eps": float(f'{keys["llama.attention.layer_norm_rms_epsilon"]:.6g}'), "rope_scaling": None,
            "rope_theta": keys["llama.rope.freq_base"], "tie_word_embeddings": is_tied, "torch_dtype": "bfloat16",
            "use_cache": True, "vocab_size": keys["llama.vocab_size"]}


def added_token(content):
    return {"content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": True}


def tokenizer(keys):
    if keys["tokenizer.ggml.model"] != "gpt2" or keys["tokenizer.ggml.pre"] != "smollm":
        sys.exit("this kind of tokenizer is not supported")
    tokens, types = keys["tokenizer.ggml.tokens"], keys["tokenizer.ggml.token_type"]
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    special = [{"id": i, **added_token(token)} for i, token in enumerate(tokens) if types[i] == SPECIAL]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
            "pre_tokenizer": {"type": "Sequence",
                              "pretokenizers": [{"type": "Digits", "individual_digits": True},
                                                {**byte_level, "add_prefix_space": False}]},
            "post_processor": None, "decoder": byte_level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                      "vocab": {token: i for i, token in enumerate(tokens)},
                      "merges": keys["tokenizer.ggml.merges"]}}


def tokenizer_config(keys):
    tokens = keys["tokenizer.ggml.tokens"]
    named = {name: tokens[keys[f"tokenizer.ggml.{key}_token_id"]]
             for name, key in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"), ("unk", "unknown"))}
    types = keys["tokenizer.ggml.token_type"]
    return {"add_prefix_space": False,
            "added_tokens_decoder": {str(i): dict(sorted(added_token(token).items()))
                                     for i, token in enumerate(tokens) if types[i] == SPECIAL},
            "additional_special_tokens": [named["bos"], named["eos"]],
            "bos_token": named["bos"], "eos_token": named["eos"], "pad_token": named["pad"],
            "unk_token": named["unk"], "chat_template": keys["tokenizer.chat_template"],
            "clean_up_tokenization_spaces": False, "model_max_length": keys["llama.context_length"],
            # transformers rebuilds the pre-tokenizer of named classes, without the split of digits
            "tokenizer_class": "PreTrainedTokenizerFast"}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    source, folder = sys.argv[1:]
    gguf = Gguf(source)
    if gguf.keys.get("general.architecture") != "llama":
        sys.exit(f"{source}: architecture {gguf.keys.get('general.architecture')} is not supported")
    os.mkdir(folder)

    def write(name, content, **style):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(content, file, ensure_ascii=False, **style)

    model = config(gguf.keys, "output.weight" not in gguf.tensors)
    write("config.json", model, indent=2)
    write("generation_config.json", {key: model[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")},
          indent=2)
    write("tokenizer.json", tokenizer(gguf.keys), indent=1)
    write("tokenizer_config.json", tokenizer_config(gguf.keys), indent=2)
    write_weights(gguf, os.path.join(folder, "model.safetensors"))


if __name__ == "__main__":
    main()
