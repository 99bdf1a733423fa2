#!/usr/bin/env python3
"""Prints what a step of every deck of inputs/ does on the fake GPU as a Markdown table.

usage: counts.py [NAME ...]     NAME is how a deck's name begins, e.g. image/ or llm/lora (default: all, two minutes)
Needs the targets multicard, multicard-post and fake_gpu of build/release (MULTICARD_BUILD names another build).
Columns: kernels, matrix products, cuDNN's convolutions and batch norms, collectives of NCCL; times the host waits for a
stream or the device / for an event; copies up from pinned memory and their bytes; copies that touch pageable memory or
block; the peak of allocated memory and its prediction. Of rank 0.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("MULTICARD_BUILD", str(SOURCE / "build" / "release"))
os.environ.setdefault("MULTICARD_BIN", os.environ["MULTICARD_BUILD"] + "/bin")

from decks import DECKS, Inputs, counts_of_step  # noqa: E402  (reads the environment)
from fake_run import memory_of  # noqa: E402

HEADER = """\
| deck | kernels + products + cuDNN | NCCL | waits: stream / event | copies up | pageable, blocking | peak | predicted |
|---|---|---|---|---|---|---|---|"""


def number(value):
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def row_of(deck, inputs):
    # Counts do not depend on values: weights of many GB need no memory of the host.
    ranks, steps, results = counts_of_step(deck, inputs, largest_copy_mib=16, timeout=3600)
    step = ranks[0]
    kinds = [step.number(kind) / steps for kind in ("kernel", "gemm", "convolution")]
    waits = step.waits()
    events = waits.pop("cudaEventSynchronize") / steps
    uploads = step.copies("pinned -> device") / steps, step.bytes_copied("pinned -> device") / steps
    odd = (step.copies("pageable") + step.copies("blocking")) / steps
    memory = memory_of(results)
    columns = [deck.name, " + ".join(map(number, kinds)) + " = " + number(sum(kinds)),
               number(step.number("nccl") / steps),
               f"{number(sum(waits.values()) / steps)} / {number(events)}",
               f"{number(uploads[0])}, {uploads[1] / 1e3:,.0f} kB", number(odd),
               f"{memory['device_peak_bytes'] / 1e6:,.0f} MB",
               f"{memory['predicted'] / 1e6:,.0f} MB" if "predicted" in memory else ""]
    return "| " + " | ".join(columns) + " |"


def main():
    if sys.argv[1:] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    wanted = tuple(sys.argv[1:]) or ("",)
    with tempfile.TemporaryDirectory(prefix="multicard-gpu-counts-") as folder:
        inputs = Inputs(folder)
        print(HEADER, flush=True)
        for deck in DECKS:
            if deck.name.startswith(wanted):
                print(row_of(deck, inputs), flush=True)


if __name__ == "__main__":
    main()
