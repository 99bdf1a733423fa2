#!/usr/bin/env python3
"""What a step with split weights sends, counted on the fake GPU, and what of that a GPU would wait for: Markdown.

usage: link_counts.py [NAME ...] [--shape llama3_8b_shape] [--counted-ranks 2] [--ranks 8] [--tokens 2048,8192]
                      [--links 450,50]         NAME: a way of CASES (default: all); a shape is a folder of inputs/llm
Needs the targets multicard, multicard-post and fake_gpu of build/release (MULTICARD_BUILD names another build).

Bytes: of a collective of S bytes in all (the whole of what is gathered or summed) each of R ranks receives S (R-1) / R,
of an all-reduce twice that. The table has S for each weight of the model, of a step of one micro-batch, which a few
ranks show as well as many. After the slash: the rule, without what stays in place and what each rank holds whole.

Tokens: from this micro-batch on computing takes as long as receiving, with 45 % of an H100's 989 TFLOP/s: 8 FLOP a
weight and token where weights are trained (forward 2, recomputing 2, backward 4), 6 with adapters.

Exposed: what receiving adds to computing in a step of one micro-batch of T tokens on RANKS ranks, and its ratio to
computing. The step is played block by block: all blocks are equal, and one collective at a time is on the link, at its
full rate, in the order of the program (ShardedBlocks.cpp). A block is gathered while the one before it computes; its
gradients are summed while backward is in the one below, and before that in the next but one, which uses the same
memory. Embedding and output layer, where they are split, are gathered and summed likewise, but the embedding before any
block and after all of them. What follows backward (norms, adapters, what is whole) is exposed. There is no latency.
"""
import argparse
import collections
import dataclasses
import os
import pathlib
import shutil
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("MULTICARD_BUILD", str(SOURCE / "build" / "release"))
os.environ.setdefault("MULTICARD_BIN", os.environ["MULTICARD_BUILD"] + "/bin")

from decks import COUNTED, Inputs  # noqa: E402  (reads the environment)
from fake_run import counts_of_steps  # noqa: E402

FLOPS = 0.45 * 989e12
MEMORY_MIB = 2_000_000  # of the fake GPU, so that every case fits
LENGTH = 64  # of a row: bytes do not depend on it


@dataclasses.dataclass
class Case:
    method: str
    shard: str
    rule: float  # bytes per weight, as above after the slash
    more: tuple = ()

    @property
    def trains_all(self):
        return "lora" not in self.method

    @property
    def splits_blocks(self):
        return self.shard in ("full", "optimizer")

    @property
    def stay_gathered(self):
        return self.shard == "optimizer"

    def flops(self):
        """Of a weight and token: forward, and backward with recomputing."""
        return (2, 6) if self.trains_all else (2, 4)


CASES = {
    "full tuning, none": Case("full", "none", 8),
    "full tuning, optimizer": Case("full", "optimizer", 6),
    "full tuning, full": Case("full", "full", 8),
    "full tuning, full, bf16 gradients": Case("full", "full", 6, ("parallel.gradient_dtype=bf16",)),
    "LoRA, full": Case("lora, rank: 16, alpha: 32, targets: all-linear", "full", 4),
    "QLoRA, full": Case("qlora, rank: 16, alpha: 32, targets: all-linear", "full", 1.03),
}


@dataclasses.dataclass
class Model:
    num_blocks: int
    block: int  # weights
    end: int  # weights of the embedding, and of the output layer
    is_tied: bool  # both are one

    @staticmethod
    def of(config):
        hidden, inner = config["hidden_size"], config["intermediate_size"]
        keys = hidden // config["num_attention_heads"] * config["num_key_value_heads"]
        return Model(config["num_hidden_layers"], 2 * hidden * (hidden + keys) + 3 * hidden * inner,
                     config["vocab_size"] * hidden, config["tie_word_embeddings"])

    @property
    def ends(self):
        return self.end if self.is_tied else 2 * self.end

    @property
    def weights(self):
        return self.num_blocks * self.block + self.ends

    def is_end(self, size):
        """Of what is gathered or summed, in 16 or 32 bits."""
        return any(abs(size / (width * self.end) - 1) < 0.01 for width in (2, 4))


@dataclasses.dataclass
class Sent:
    """Bytes of a step, S of each collective: of all gathers of blocks, of all sums that may overlap, and the rest; of
    ends that are split those of each gather and each sum, in the order of the step."""

    gathers: float
    sums: float
    rest: float
    num_gathers: int
    end_gathers: tuple = ()
    end_sums: tuple = ()

    @property
    def of_ends(self):
        return sum(self.end_gathers) + sum(self.end_sums)

    @property
    def all(self):
        return self.gathers + self.sums + self.rest + self.of_ends


def size_of(what, counted, ranks):
    """S, from the bytes that the fake NCCL counts."""
    return {"ncclAllGather": ranks * counted, "ncclReduceScatter": ranks * counted, "ncclAllReduce": 2 * counted,
            "send and receive groups": counted}[what]


def sent_in(order, case, model, ranks):
    found = [(what, size_of(what, counted, ranks)) for what, counted, _ in order if what != "gemm"]
    gathers = [size for what, size in found if what == "ncclAllGather"]
    sums = [size for what, size in found if what != "ncclAllGather"]
    everything = sum(gathers) + sum(sums)
    if not case.splits_blocks:  # sums overlap with backward, what follows the update does not
        return Sent(0, sum(sums), sum(gathers), 0)
    ends = [tuple(size for size in sizes if case.trains_all and model.is_end(size)) for sizes in (gathers, sums)]
    block = collections.Counter(gathers).most_common(1)[0][0]
    of_blocks = gathers.count(block) * block
    # Equal sums, of as many as there are blocks.
    size, number = collections.Counter(sums).most_common(1)[0] if case.trains_all else (0, 0)
    rest = everything - of_blocks - size * number - sum(map(sum, ends))
    return Sent(of_blocks, size * number, rest, gathers.count(block), *ends)


def count(case, shape, inputs, ranks):
    """What a steady step of one micro-batch sends. `shape`: folder and config of a model."""
    folder, config = shape
    output = inputs.folder / "out"
    shutil.rmtree(output, True)
    found = counts_of_steps(
        str(inputs.folder / "counts"), ranks, 2, 3, "run", SOURCE / "inputs/llm/lora.yaml", *COUNTED,
        inputs.rows(config, LENGTH, 64), "data.max_length=%d" % LENGTH, "model.path=%s" % folder,
        "model.random_weights=true", "evaluate.prompts=null", "method={name: %s}" % case.method,
        "parallel.shard=" + case.shard, "run.global_batch=%d" % ranks, "run.output=%s" % output, *case.more,
        memory_mib=MEMORY_MIB, largest_copy_mib=1, order=True)
    return sent_in(found[0].order, case, Model.of(config), ranks)


class Link:
    """One collective after the other."""

    def __init__(self):
        self.free = 0.0

    def send(self, asked, seconds):
        """When it ends."""
        self.free = max(self.free, asked) + seconds
        return self.free


def exposed_seconds(sent, case, model, ranks, tokens, rate):
    """Of a step of one micro-batch: how much longer it takes than computing. `rate`: bytes/s of a rank's link."""
    blocks, link, now = model.num_blocks, Link(), 0.0
    forward, backward = (flops * model.weights * tokens / FLOPS / blocks for flops in case.flops())
    received = (ranks - 1) / ranks / rate
    gather = sent.gathers * received / max(1, sent.num_gathers)
    row = sent.sums * received / blocks
    # What stays in place: everything, the first two blocks, or after an update nothing.
    placed = {i: 0.0 for i in range(blocks if not case.splits_blocks else 0 if case.trains_all else 2)}
    summed = {}

    def start(block):
        if 0 <= block < blocks and block not in placed:
            placed[block] = link.send(now, gather)
    end_gathers, end_sums = ([size * received for size in sizes] for sizes in (sent.end_gathers, sent.end_sums))
    if end_gathers:  # of the embedding
        now = link.send(now, end_gathers[0])
    head = 0.0
    for block in range(blocks):
        start(block)
        start(block + 1)
        if block == blocks - 1 and len(end_gathers) > 1:
            head = link.send(now, end_gathers[1])
        now = max(now, placed[block]) + forward
    now = max(now, head)
    if len(end_sums) > 1:  # whose gradient is computed along with the loss
        link.send(now, end_sums[0])
    if case.splits_blocks and not case.stay_gathered:
        placed = {block: placed[block] for block in range(blocks - 2, blocks)}
    for block in reversed(range(blocks)):
        now = max(now, placed[block])
        start(block - 1)
        if case.splits_blocks:  # there are two rows
            now = max(now, summed.get(block + 2, 0.0))
        now += backward
        summed[block] = link.send(now, row)
    if end_sums:  # of the embedding
        link.send(now, end_sums[-1])
    return link.send(max(now, link.free), sent.rest * received) - blocks * (forward + backward)


def break_even(bytes_per_weight, case, ranks, rate):
    """Tokens."""
    return bytes_per_weight * (ranks - 1) / ranks / rate * FLOPS / sum(case.flops())


def row_of(name, sent, model, options):
    case = CASES[name]
    counted = sent.all / model.weights
    cells = ["%.2f / %g" % (counted, case.rule)]
    for rate in options.links:
        cells.append(" / ".join("{:,.0f}".format(break_even(each, case, options.ranks, rate * 1e9))
                                for each in (counted, case.rule)))
    for tokens in options.tokens:
        compute = sum(case.flops()) * model.weights * tokens / FLOPS
        for rate in options.links:
            exposed = exposed_seconds(sent, case, model, options.ranks, tokens, rate * 1e9)
            cells.append("{:,.0f} ms, {:.0%}".format(1e3 * exposed, exposed / compute))
    return "| " + " | ".join([name, *cells]) + " |"


def header(options):
    columns = ["tuned, split", "bytes per weight", *("tokens, %g GB/s" % rate for rate in options.links)]
    columns += ["exposed, T = {:,}, {:g} GB/s".format(tokens, rate) for tokens in options.tokens
                for rate in options.links]
    return "| " + " | ".join(columns) + " |\n|" + "--|" * len(columns)


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--shape", default="llama3_8b_shape")
    parser.add_argument("--counted-ranks", type=int, default=2)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--tokens", type=numbers, default=[2048, 8192])
    parser.add_argument("--links", type=numbers, default=[450, 50])
    options = parser.parse_args()
    if unknown := set(options.names) - set(CASES):
        parser.error("unknown way: %s (known: %s)" % ("; ".join(sorted(unknown)), "; ".join(CASES)))
    with tempfile.TemporaryDirectory(prefix="multicard-link-counts-") as folder:
        inputs = Inputs(folder)
        shape = inputs.shape(options.shape)
        model = Model.of(shape[1])
        print(header(options), flush=True)
        for name in options.names or CASES:
            print(row_of(name, count(CASES[name], shape, inputs, options.counted_ranks), model, options), flush=True)


if __name__ == "__main__":
    main()
