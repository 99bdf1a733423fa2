#!/usr/bin/env python3
"""Writes ../../models/qwen3-tiny, a random Qwen3 model, and oracle.json next to this file: what transformers computes
with it (README.md in this folder).

usage: make_qwen3.py, where torch, transformers and PEFT can be imported (scripts/setup_peers.sh)
"""

import json
from pathlib import Path

import torch
import transformers
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Qwen3Config

HERE = Path(__file__).resolve().parent
MODEL = HERE.parents[1] / "models" / "qwen3-tiny"
SIZES = {"vocab_size": 256, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "max_position_embeddings": 512,
         "rms_norm_eps": 1e-6, "rope_theta": 1000000.0, "tie_word_embeddings": True, "initializer_range": 0.1,
         "bos_token_id": None, "eos_token_id": 0}
NEW = 32


def make_model():
    torch.manual_seed(20)
    model = AutoModelForCausalLM.from_config(Qwen3Config(**SIZES))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("norm.weight"):
                weight.normal_(1.0, 0.3)
    model.save_pretrained(MODEL)


def gradient_norms(model, tokens):
    model.zero_grad()
    loss = model(tokens, labels=tokens).loss
    loss.backward()
    return loss.item(), {name: weight.grad.norm().item() for name, weight in model.named_parameters()
                         if weight.grad is not None}


def adapted(model, tokens):
    """Adapters with values that PEFT computes with, as functions of their index."""
    torch.manual_seed(3)
    peft = get_peft_model(model, LoraConfig(r=4, lora_alpha=8, target_modules=["q_proj", "k_proj", "down_proj"]))
    tensors = {}
    with torch.no_grad():
        for name, weight in peft.named_parameters():
            if weight.requires_grad:
                weight.copy_(torch.arange(weight.numel()).view(weight.shape).mul(0.7).sin().mul(0.1))
                tensors[name.replace(".default", "")] = list(weight.shape)
    loss, norms = gradient_norms(peft, tokens)
    return {"shapes": tensors, "loss": loss,
            "gradients": {name.replace(".default", ""): norm for name, norm in norms.items()}}


def main():
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    make_model()
    model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float64)
    tokens = torch.randint(1, 256, (2, 12), generator=torch.Generator().manual_seed(7))
    with torch.no_grad():
        logits = model(tokens).logits
    loss, norms = gradient_norms(model, tokens)
    greedy = model.generate(tokens[:1], do_sample=False, max_new_tokens=NEW, eos_token_id=None, pad_token_id=0)
    oracle = {"transformers": transformers.__version__, "tokens": tokens.tolist(),
              "last_logits": logits[:, -1].tolist(), "loss": loss, "gradients": norms,
              "greedy": greedy[0, tokens.shape[1]:].tolist(), "lora": adapted(model, tokens)}
    (HERE / "oracle.json").write_text(json.dumps(oracle, indent=1) + "\n")


if __name__ == "__main__":
    main()
