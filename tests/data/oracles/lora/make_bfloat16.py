#!/usr/bin/env python3
"""Makes bfloat16.json and adapter_final_bfloat16.safetensors next to it: the oracle's 20 steps with what is trained,
its gradients and moments in bfloat16, by transformers, PEFT and torch's AdamW. "lora": adapters on a base model in
float32; "full": all weights, at a tenth of the learning rate.

usage: make_bfloat16.py     with the Python of scripts/peers.sh
"""
import json
import math
from pathlib import Path

import peft
import torch
import transformers
from safetensors.torch import load_file, save_file

FOLDER = Path(__file__).resolve().parent
BASE = FOLDER.parents[1] / "models" / "tinystories-656K"


def factor(step, warm=5, steps=20):
    """Of the learning rate: a linear rise, then half a cosine."""
    if step < warm:
        return step / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / (steps - warm)))


def load_base(dtype):
    return transformers.AutoModelForCausalLM.from_pretrained(BASE, dtype=dtype, attn_implementation="eager")


def train(model, learning_rate):
    """Returns losses and gradient norms."""
    batches = load_file(FOLDER / "batches.safetensors")
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    for parameter in trained:
        parameter.data = parameter.data.to(torch.bfloat16)
    optimizer = torch.optim.AdamW(trained, lr=learning_rate, weight_decay=0.01, fused=True)
    found = {"loss": [], "grad_norm": []}
    for step in range(20):
        labels = batches["labels"][step][:, 1:]
        logits = model(input_ids=batches["input_ids"][step], attention_mask=batches["attention_mask"][step]).logits
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].float().flatten(0, 1), labels.flatten())
        loss.backward()
        norm = torch.stack([parameter.grad.double().norm() for parameter in trained]).norm()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.param_groups[0]["lr"] = learning_rate * factor(step)
        optimizer.step()
        optimizer.zero_grad()
        found["loss"].append(loss.item())
        found["grad_norm"].append(norm.item())
    return found


def main():
    torch.set_num_threads(1)
    adapted = peft.PeftModel.from_pretrained(load_base(torch.float32), FOLDER / "adapter_init", is_trainable=True,
                                             autocast_adapter_dtype=False)
    found = {"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__,
             "lora": train(adapted, 1e-3), "full": train(load_base(torch.bfloat16), 1e-4)}
    (FOLDER / "bfloat16.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    save_file(peft.get_peft_model_state_dict(adapted), FOLDER / "adapter_final_bfloat16.safetensors", {"format": "pt"})


if __name__ == "__main__":
    main()
