#!/usr/bin/env python3
"""What a step of each tuning method does at the shape of Llama-3-8B, counted on the fake GPU: CSV for multicard-post.

usage: method_counts.py [NAME ...] [--tokens 2048] [--no-checkpointing]     NAME: a method of METHODS (default: all)
Needs the targets multicard, multicard-post and fake_gpu of build/release (MULTICARD_BUILD names another build).
A step is one row of TOKENS tokens, or one pair of two sequences of half of them: every method computes on as many.
Weights in bf16, trained ones in float32; a GPU as large as it takes. Of one rank: all_reduce_bytes is what it would
give to all-reduces.
"""
import argparse
import csv
import dataclasses
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("MULTICARD_BUILD", str(SOURCE / "build" / "release"))
os.environ.setdefault("MULTICARD_BIN", os.environ["MULTICARD_BUILD"] + "/bin")

from decks import COUNTED, Inputs  # noqa: E402  (reads the environment)
from fake_run import TINY_MODEL, counts_of_run, difference, number_in, prepare  # noqa: E402

ADAPTERS = "rank: 16, alpha: 32, targets: all-linear"
METHODS = {
    "full": "name: full",
    "lora": "name: lora, " + ADAPTERS,
    "qlora": "name: qlora, " + ADAPTERS,
    "qat": "name: qat",
    "lora-qat": "name: lora-qat, " + ADAPTERS,
    "dpo": "name: dpo",
    "dpo, cached": "name: dpo, reference: cached",
    "lora-dpo": "name: lora-dpo, " + ADAPTERS,
    "lora-dpo, cached": "name: lora-dpo, reference: cached, " + ADAPTERS,
    "qlora-dpo": "name: qlora-dpo, " + ADAPTERS,
    "qlora-dpo, cached": "name: qlora-dpo, reference: cached, " + ADAPTERS,
}
STEPS = (2, 4)  # of the two runs whose difference is taken
MEMORY_MIB = 400_000  # of the fake GPU, so that every method fits
MEMORY = {"peak_bytes": "device_peak_bytes", "parameters": "model/parameters", "frozen": "model/frozen",
          "adapters_bytes": "model/adapters", "gradients_bytes": "model/gradients",
          "optimizer_bytes": "model/optimizer", "reference_bytes": "model/reference"}
COLUMNS = ["method", "model", "checkpointing", "tokens", "kernels", "matrix_products", "flops", "host_to_device_bytes",
           "device_to_device_bytes", "all_reduce_bytes", "peak_bytes", "weights_bytes", "adapters_bytes",
           "gradients_bytes", "optimizer_bytes", "reference_bytes"]


@dataclasses.dataclass
class Step:
    """What each method is counted for."""

    inputs: Inputs
    tokens: int = 2048
    checkpointing: bool = True


def make_long_pairs(folder, number=8, words=6000):
    """Preference pairs whose answers are longer than any row, with ids of the small model."""
    draw = random.Random(1)

    def text():
        return " ".join(draw.choices("moon river stone light wind bread house cloud".split(), k=words))

    records = [{"instruction": "Say it.", "input": "", "output": "", "chosen": text(), "rejected": text()}
               for _ in range(number)]
    path = folder / "records.json"
    path.write_text(json.dumps(records))
    prepare("text", "--type", "preference", "--tokenizer", TINY_MODEL, "--in", path, "-o", folder / "pairs")


def arguments_of(name, step):
    shape, config = step.inputs.shape("llama3_8b_shape")
    if "dpo" in name:
        length, pairs = step.tokens // 2, step.inputs.made("long_pairs", make_long_pairs)
        data = "data.train=%s/pairs-*.h5" % pairs
    else:
        length, data = step.tokens, step.inputs.rows(config, step.tokens, 8)
    return ["run", SOURCE / "inputs/llm/llama3_8b_1gpu.yaml", *COUNTED, data, "data.max_length=%d" % length,
            "data.packing=false", "data.shuffle=false", "model.path=%s" % shape, "model.random_weights=true",
            "model.activation_checkpointing=%s" % str(step.checkpointing).lower(), "method={%s}" % METHODS[name],
            "run.global_batch=1", "run.output=%s" % (step.inputs.folder / "out")]


def count(name, step):
    """A row of the table: a steady step of the method."""
    results = step.inputs.folder / "out/results.h5"
    runs, reduced, recorded = [], [], {}

    def run_for(steps):
        shutil.rmtree(results.parent, True)
        return counts_of_run(str(step.inputs.folder / "counts"), 1, *arguments_of(name, step), "run.steps=%d" % steps,
                             memory_mib=MEMORY_MIB)[0]

    if "cached" in name:
        run_for(1)  # computes the reference, which the others read
    for steps in STEPS:
        runs.append(run_for(steps))
        reduced.append(number_in(results, "communication/all_reduce/payload_bytes"))
        recorded = {column: number_in(results, "memory/" + path) for column, path in MEMORY.items()}
    assert number_in(results, "steps/tokens") == step.tokens, "a step has another number of tokens"
    more, steps = difference(*runs), STEPS[1] - STEPS[0]
    row = {"method": name, "model": "llama3_8b_shape", "checkpointing": int(step.checkpointing), "tokens": step.tokens,
           "kernels": more.number("kernel") / steps, "matrix_products": more.number("gemm") / steps,
           "flops": more.amounts["total"]["gemm_flops"] / steps,
           "host_to_device_bytes": sum(map(more.bytes_copied, ("pinned -> device", "pageable -> device"))) / steps,
           "device_to_device_bytes": more.bytes_copied("device -> device") / steps,
           "all_reduce_bytes": (reduced[1] - reduced[0]) / steps}
    row["weights_bytes"] = (recorded.pop("parameters") + recorded.pop("frozen") - recorded["adapters_bytes"]
                            - recorded["reference_bytes"])
    return {**row, **recorded}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--no-checkpointing", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.names) - set(METHODS):
        parser.error("unknown method: %s (known: %s)" % (", ".join(sorted(unknown)), ", ".join(METHODS)))
    with tempfile.TemporaryDirectory(prefix="multicard-method-counts-") as folder:
        step = Step(Inputs(folder), options.tokens, not options.no_checkpointing)
        writer = csv.DictWriter(sys.stdout, COLUMNS)
        writer.writeheader()
        for name in options.names or METHODS:
            row = count(name, step)
            writer.writerow({key: round(value) if isinstance(value, float) else value for key, value in row.items()})
            sys.stdout.flush()


if __name__ == "__main__":
    main()
