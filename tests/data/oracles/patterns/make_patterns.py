#!/usr/bin/env python3
"""Makes the other files of this folder: an adapter whose layers have other ranks and alphas, with modules that are
trained whole, and what transformers, PEFT and torch's AdamW compute with it.

usage: make_patterns.py     with the Python of scripts/peers.sh
"""
import json
import shutil
from pathlib import Path

import peft
import torch
import transformers
from safetensors.torch import load_file, save_file

FOLDER = Path(__file__).resolve().parent
BASE = FOLDER.parents[1] / "models" / "tinystories-656K"
BATCHES = FOLDER.parent / "lora" / "batches.safetensors"
STEPS, LEARNING_RATE = 5, 1e-3


def load_base():
    return transformers.AutoModelForCausalLM.from_pretrained(BASE, dtype=torch.float64, attn_implementation="eager")


def make_adapter():
    """Numbers are small and stored in bfloat16."""
    config = peft.LoraConfig(
        r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "up_proj", "down_proj"], task_type="CAUSAL_LM",
        rank_pattern={"(q|v)_proj": 2, r"^model\.layers\.1\..*": 6, "down_proj": 3},
        alpha_pattern={"layers.0.mlp.up_proj": 1, "v_proj": 12, "_proj": 5},  # the last matches no layer
        modules_to_save=["embed_tokens", "lm_head", "norm"])
    model = peft.get_peft_model(load_base(), config)
    generator = torch.Generator().manual_seed(11)
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        parameter.data = 0.05 * noise if "lora_" in name else parameter.data.double() + 0.02 * noise
    shutil.rmtree(FOLDER / "adapter", ignore_errors=True)
    model.peft_config["default"].base_model_name_or_path = BASE.name
    model.save_pretrained(FOLDER / "adapter")
    (FOLDER / "adapter" / "README.md").unlink(missing_ok=True)
    path = FOLDER / "adapter" / "adapter_model.safetensors"
    save_file({name: tensor.bfloat16() for name, tensor in load_file(path).items()}, path, {"format": "pt"})


def load_adapted(adapter=FOLDER / "adapter", is_trainable=True):
    model = peft.PeftModel.from_pretrained(load_base(), adapter, is_trainable=is_trainable,
                                           autocast_adapter_dtype=False)
    for parameter in model.parameters():
        parameter.data = parameter.data.double()
    return model


def summary(model, batches, step=0):
    """Of the logits at the last real token of each row of a batch."""
    with torch.no_grad():
        logits = model(input_ids=batches["input_ids"][step], attention_mask=batches["attention_mask"][step]).logits
    rows = []
    for row, mask in zip(logits, batches["attention_mask"][step]):
        last = row[int(mask.sum()) - 1]
        top = last.topk(5)
        rows.append({"top5": [[int(i), float(v)] for v, i in zip(top.values, top.indices)],
                     "logsumexp": float(last.logsumexp(0))})
    return rows


def train(model, batches):
    """Losses and gradient norms; AdamW without weight decay, no clipping, a constant rate."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=LEARNING_RATE, weight_decay=0.0)
    found = {"loss": [], "grad_norm": []}
    for step in range(STEPS):
        labels = batches["labels"][step][:, 1:]
        logits = model(input_ids=batches["input_ids"][step], attention_mask=batches["attention_mask"][step]).logits
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels.flatten())
        loss.backward()
        found["loss"].append(loss.item())
        found["grad_norm"].append(torch.stack([parameter.grad.norm() for parameter in trained]).norm().item())
        optimizer.step()
        optimizer.zero_grad()
    return found


def main():
    torch.set_num_threads(1)
    make_adapter()
    batches = load_file(BATCHES)
    model = load_adapted()
    found = {"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__,
             "trained": sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad),
             "logits": summary(model, batches)}
    with model.disable_adapter():
        found["logits_off"] = summary(model, batches)
    found["logits_merged"] = summary(load_adapted().merge_and_unload(), batches)
    found["training"] = train(model, batches)
    found["logits_trained"] = summary(model, batches)
    (FOLDER / "oracle.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
