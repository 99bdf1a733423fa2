#!/usr/bin/env python3
"""Writes oracle.json next to it: how transformers chooses tokens (README.md in this folder).

usage: make_generate.py, where torch and transformers can be imported (scripts/setup_peers.sh)
"""

import json
from pathlib import Path

import torch
import transformers
from transformers import AutoModelForCausalLM, LogitsProcessorList
from transformers import RepetitionPenaltyLogitsProcessor, TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

HERE = Path(__file__).resolve().parent
MODEL = HERE.parents[1] / "models" / "tinystories-656K"
PROMPTS = [[1, 403, 407, 261, 378], [1, 99, 345, 33, 345, 99, 12], [1, 1200],
           [1, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]]
NEW = 40


def greedy(model, prompt, penalty):
    ids = model.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=NEW, repetition_penalty=penalty,
                         eos_token_id=None, pad_token_id=0)
    return ids[0, len(prompt):].tolist()


def distribution(logits, read, penalty, temperature, top_k, top_p):
    steps = LogitsProcessorList([RepetitionPenaltyLogitsProcessor(penalty), TemperatureLogitsWarper(temperature)])
    if top_k:
        steps.append(TopKLogitsWarper(top_k))
    if top_p < 1:
        steps.append(TopPLogitsWarper(top_p))
    scores = steps(torch.tensor([read]), torch.tensor([logits], dtype=torch.float64))
    return torch.softmax(scores, -1)[0].tolist()


def main():
    transformers.utils.logging.set_verbosity_error()
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32).eval()
    penalties = [{"penalty": penalty, "prompt": prompt, "new": greedy(model, prompt, penalty)}
                 for penalty in (1.0, 1.3, 0.8) for prompt in PROMPTS]
    logits = [2.0, -1.5, 0.25, 3.5, 2.0, -0.5, 1.0, 0.0]
    cases = [{"penalty": 1.0, "temperature": 1.0, "top_k": 3, "top_p": 1.0},  # two are equal to the third largest
             {"penalty": 1.0, "temperature": 0.7, "top_k": 2, "top_p": 1.0},  # two are equal to the second largest
             {"penalty": 1.0, "temperature": 1.0, "top_k": 5, "top_p": 0.95},
             {"penalty": 1.6, "temperature": 1.0, "top_k": 0, "top_p": 1.0},
             {"penalty": 1.6, "temperature": 1.5, "top_k": 4, "top_p": 0.9},
             {"penalty": 0.5, "temperature": 2.0, "top_k": 100, "top_p": 0.95}]
    read = [3, 1, 3, 6]
    for case in cases:
        case["probabilities"] = distribution(logits, read, **case)
    oracle = {"transformers": transformers.__version__, "greedy": penalties, "logits": logits, "read": read,
              "sampling": cases}
    (HERE / "oracle.json").write_text(json.dumps(oracle, indent=1) + "\n")


if __name__ == "__main__":
    main()
