#!/usr/bin/env python3
"""Makes adamw8bit.safetensors next to it: 20 steps of bitsandbytes' AdamW8bit on the CPU.

Without the package's native library: its CPU quantiser looks values up in a table of 65536 entries, too few for small
moments; the portable one, like that of GPUs, compares with the middles between neighbours.

usage: make_adamw8bit.py     with a Python that has torch, safetensors and bitsandbytes 0.50.2
"""
import ctypes
import os
from pathlib import Path
from unittest import mock

os.environ["TORCHDYNAMO_DISABLE"] = "1"  # as it is written, not as a compiler would have it

import torch
from safetensors.torch import save_file

with mock.patch.object(ctypes.cdll, "LoadLibrary", side_effect=OSError("left out")):
    import bitsandbytes

FOLDER = Path(__file__).resolve().parent
SIZES = {"whole": (32, 128), "odd": (41, 103), "bfloat16": (64, 66), "small": (45,)}  # 16, 17 and 17 blocks, and none
KEPT = (1, 2, 10, 11, 19, 20)  # steps after which the state is kept


def numbers(size, salt):
    """Of both signs and many magnitudes, exact in bfloat16."""
    i = torch.arange(size, dtype=torch.int64)
    return ((i * 7919 + salt * 104729) % 251 - 125).double() * 2.0 ** -(7 + (i * 31 + salt) % 13).double()


def main():
    parameters = {}
    for name, shape in SIZES.items():
        start = numbers(torch.Size(shape).numel(), 1000).view(shape)
        dtype = torch.bfloat16 if name == "bfloat16" else torch.float32
        parameters[name] = torch.nn.Parameter(start.to(dtype))
    optimizer = bitsandbytes.optim.AdamW8bit(parameters.values(), lr=1e-2, betas=(0.9, 0.99), eps=1e-8,
                                             weight_decay=0.1)
    tensors = {}
    for step in range(1, 21):
        for salt, (name, parameter) in enumerate(parameters.items()):
            gradient = numbers(parameter.numel(), step * len(SIZES) + salt)
            parameter.grad = gradient.view(parameter.shape).to(parameter.dtype)
        optimizer.step()
        if step not in KEPT:
            continue
        for name, parameter in parameters.items():
            prefix, state = "%d.%s." % (step, name), optimizer.state[parameter]
            tensors[prefix + "value"] = parameter.detach().clone()
            for ours, theirs in (("exp_avg", "state1"), ("exp_avg_sq", "state2"), ("exp_avg_absmax", "absmax1"),
                                 ("exp_avg_sq_absmax", "absmax2")):
                if theirs in state:
                    tensors[prefix + ours] = state[theirs].clone()
    tensors["signed_map"] = bitsandbytes.functional.create_dynamic_map(signed=True)
    tensors["unsigned_map"] = bitsandbytes.functional.create_dynamic_map(signed=False)
    save_file(tensors, str(FOLDER / "adamw8bit.safetensors"))


if __name__ == "__main__":
    main()
