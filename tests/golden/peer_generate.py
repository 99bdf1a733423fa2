"""Greedy tokens by transformers and PEFT: peer_generate.py MODEL ADAPTER|- NUMBER ID,ID,... prints the new ids."""

import json
import sys

import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM

base, adapter, number, ids = sys.argv[1:]
model = AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
if adapter != "-":
    model = PeftModel.from_pretrained(model, adapter)
model.eval()
tokens = [int(word) for word in ids.split(",")]
new = []
with torch.no_grad():
    while len(new) < int(number):
        new.append(int(model(torch.tensor([tokens + new])).logits[0, -1].argmax()))
print(json.dumps(new))
