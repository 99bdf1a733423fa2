#!/usr/bin/env python3
"""Prints preference pairs of shards as JSON lines {"prompt_ids": [...], "chosen_ids": [...], "rejected_ids": [...]}.

usage: pairs_of_shards.py SHARD.h5 ...     needs numpy and h5dump
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy


def read(path, dataset, dtype):
    with tempfile.TemporaryDirectory() as folder:
        raw = os.path.join(folder, "raw")
        subprocess.run(["h5dump", "-d", dataset, "-b", "LE", "-o", raw, path], check=True, stdout=subprocess.DEVNULL)
        return numpy.fromfile(raw, dtype)


def sequences(path, half):
    """Tokens and the number of those before the first target, of each sequence."""
    tokens, mask = read(path, half + "/tokens", "<u4"), read(path, half + "/loss_mask", "u1")
    offsets = read(path, half + "/offsets", "<u8").astype(int)
    for begin, end in zip(offsets, offsets[1:]):
        yield tokens[begin:end].tolist(), int(mask[begin:end].argmax())


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    for path in sys.argv[1:]:
        for (chosen, prompt), (rejected, other) in zip(sequences(path, "/chosen"), sequences(path, "/rejected")):
            assert prompt == other and chosen[:prompt] == rejected[:prompt], "the halves have different prompts"
            print(json.dumps({"prompt_ids": chosen[:prompt], "chosen_ids": chosen[prompt:],
                              "rejected_ids": rejected[prompt:]}))


if __name__ == "__main__":
    main()
