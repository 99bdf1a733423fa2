#!/usr/bin/env python3
"""The peer of multicard's language task: a tuning method by transformers and PEFT, AdamW, DistributedDataParallel.

Written as a practised user of both libraries writes it: sdpa attention, no cache of keys, adapters in float32 on all
linear layers; fp32 loads frozen weights in float32, bf16 in bfloat16 and trains under autocast. Methods other than lora
and full also need bitsandbytes, torchao or TRL (bench/peer_methods.py). One rank is one plain process, several are
torchrun's over gloo on the CPU (bench/llm_cpu.sh and bench/gpu_llm.sh install what it needs and start it).

    python3 bench/peer_llm.py --model MODEL_FOLDER --rows rows.jsonl --precision bf16
    python3 bench/peer_llm.py --model MODEL_FOLDER --random-weights --device cuda --compile default ...
    python3 -m torch.distributed.run --standalone --nproc-per-node 2 bench/peer_llm.py --model MODEL_FOLDER ...

Every line of --rows is {"input_ids": [...], "labels": [...]}, all equally long; -100 is not trained on. Those of
preference methods are {"prompt_ids": [...], "chosen_ids": [...], "rejected_ids": [...]}. A step takes the next rows, in
their order (TRL in its own). Rank 0 prints one JSON line: tokens/s over all ranks (every input token counts; median
step after the warm-up), the loss of the first step over all ranks, the largest resident memory a rank ever had, from
its start on, and of a GPU the largest memory that tensors took.
"""
import argparse
import json
import os
import re
import statistics
import time

import peft
import torch
import torch.distributed
import transformers

import peer_methods


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="Hugging Face folder")
    parser.add_argument("--rows", required=True, help="JSON lines of input_ids and labels")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--method", choices=peer_methods.METHODS, default="lora")
    parser.add_argument("--group-size", type=int, default=64, help="weights that share a scale, of qat and lora-qat")
    parser.add_argument("--scratch", default="/tmp", help="folder for what TRL writes")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="cuda: one rank only")
    parser.add_argument("--random-weights", action="store_true", help="random weights; --model needs config.json")
    parser.add_argument("--compile", metavar="MODE", help="of torch.compile, e.g. default, max-autotune")
    parser.add_argument("--checkpointing", action="store_true", help="compute activations of layers again in backward")
    parser.add_argument("--batch", type=int, default=2, help="rows of a rank and step")
    parser.add_argument("--micro-batch", type=int, help="rows at a time (default: all), as many targets in each")
    parser.add_argument("--steps", type=int, default=8, help="measured steps")
    parser.add_argument("--warmup", type=int, default=2, help="steps before them")
    parser.add_argument("--rank", type=int, default=16, help="of the adapters")
    parser.add_argument("--alpha", type=float, default=32)
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    parser.add_argument("--weight-decay", type=float, default=0.01)
    return parser.parse_args()


def read_rows(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def make_model(options, ranks):
    torch.manual_seed(1)
    settings = peer_methods.load_options(options.method, options.precision)
    if options.random_weights:
        config = transformers.AutoConfig.from_pretrained(options.model)
        with torch.device(options.device):
            model = transformers.AutoModelForCausalLM.from_config(config, **settings)
    else:
        model = transformers.AutoModelForCausalLM.from_pretrained(options.model, **settings)
    model.config.use_cache = False
    if options.checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model = peer_methods.with_method(model, options)
    model.to(options.device).train()
    if options.compile:
        model = torch.compile(model, mode=options.compile, dynamic=False)
    if ranks == 1 or peer_methods.is_preference(options.method):  # TRL wraps it itself
        return model
    return torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)


def train(options, model, rank, ranks):
    """Returns the seconds and this rank's loss of each step, and the tokens of all ranks in a step."""
    rows = read_rows(options.rows)
    if peer_methods.is_preference(options.method):
        tokens = sum(map(len, rows[0].values())) + len(rows[0]["prompt_ids"])
        return *peer_methods.train_preferences(options, model, rows), ranks * options.batch * tokens
    input_ids, labels = (torch.tensor([row[key] for row in rows], device=options.device)
                         for key in ("input_ids", "labels"))
    micro_batch = options.micro_batch or options.batch
    parts = options.batch // micro_batch
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=options.learning_rate, weight_decay=options.weight_decay, fused=True)
    seconds, losses = [], []
    start = time.perf_counter()
    for step in range(options.warmup + options.steps):
        total = 0
        for part in range(parts):
            begin = ((step * ranks + rank) * parts + part) * micro_batch
            mine = slice(begin, begin + micro_batch)
            with torch.autocast(options.device, dtype=torch.bfloat16, enabled=options.precision == "bf16"):
                loss = model(input_ids=input_ids[mine], labels=labels[mine]).loss / parts
            loss.backward()
            total = total + loss.detach()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(total.item())
        if options.device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
        start += seconds[-1]
    return seconds, losses, ranks * options.batch * input_ids.shape[1]


def peak_resident_bytes():
    with open("/proc/self/status", encoding="ascii") as file:
        return int(re.search(r"VmHWM:\s+(\d+) kB", file.read())[1]) * 1024


def over_ranks(value, operation, ranks):
    value = torch.tensor(value, dtype=torch.float64)
    if ranks > 1:
        torch.distributed.all_reduce(value, op=operation)
    return value.item()


def main():
    options = arguments()
    if options.batch % (options.micro_batch or options.batch):
        raise SystemExit("peer_llm.py: --batch is not a multiple of --micro-batch")
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    transformers.utils.logging.disable_progress_bar()
    rank, ranks = 0, 1
    if "RANK" in os.environ:
        torch.distributed.init_process_group("gloo")
        rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    seconds, losses, tokens = train(options, make_model(options, ranks), rank, ranks)
    peak = over_ranks(peak_resident_bytes(), torch.distributed.ReduceOp.MAX, ranks)
    first_loss = over_ranks(losses[0], torch.distributed.ReduceOp.SUM, ranks) / ranks
    if rank == 0:
        measured = seconds[options.warmup:]
        print(json.dumps({
            "threads": torch.get_num_threads(), "torch": torch.__version__, "transformers": transformers.__version__,
            "peft": peft.__version__, "tokens_per_s": tokens / statistics.median(measured),
            "slowest_step_s": max(measured), "first_step_s": seconds[0], "first_loss": first_loss,
            "last_loss": losses[-1], "peak_rank_bytes": int(peak),
            "peak_device_bytes": torch.cuda.max_memory_allocated() if options.device == "cuda" else 0,
            "device": torch.cuda.get_device_name() if options.device == "cuda" else "cpu",
        }), flush=True)
    if ranks > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
