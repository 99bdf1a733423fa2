#!/usr/bin/env python3
"""Measures the cells of the study of the circulating claim, one line of JSON each; scripts/study_claim.sh starts it.

usage: study_claim.py GRID OUTPUT --images PREFIX --texts PREFIX --model FOLDER [--quick]
  GRID    inputs/study/claim/claim.yaml: what is measured
  OUTPUT  a folder: claim.jsonl, to which finished cells are appended, and what the runs leave
"""
import argparse
import os
import platform
import sys
import time
from pathlib import Path

import claim_memory
from claim_runs import Claim, Nodes, number_of, say

ROOT = Path(__file__).resolve().parents[1]
ONE_BUCKET = 100000  # MB: more than any of the models' gradients


def exchange_of(variant, best):
    """Settings of a run's section parallel."""
    buckets = {"one": ONE_BUCKET, "auto": "auto", "best": best}[variant["buckets"]]
    return {"parallel.overlap": variant["overlap"], "parallel.gradient_dtype": variant["gradient_dtype"],
            "parallel.bucket_mb": buckets}


def best_bucket(claim, place, task):
    """The size of buckets with the shortest step on what an equal split gives the task; auto where it exchanges
    nothing."""
    ranks = [1, 1] if place.get("spread") else [sum(place["ranks"]) // 2]
    if sum(ranks) == 1:
        return "auto"
    grid, found = claim.grid["iteration"], {}
    for bucket in grid["bucket_mb"]:
        values = claim.cell("buckets", place["name"], task, "bucket_mb %s" % bucket, 0, lambda bucket=bucket: run_step(
            claim, {**place, "ranks": ranks}, task,
            {"parallel.overlap": True, "parallel.gradient_dtype": "bf16", "parallel.bucket_mb": bucket,
             "run.steps": grid["bucket_steps"]}))
        found[bucket] = values["step_s"]
    return min(found, key=found.get)


def run_step(claim, place, task, settings):
    row = claim.run(place, task, settings)[0]
    return {"step_s": float(row["step_s"])}


def measure_iteration(claim):
    """E1: both tasks in one job."""
    grid = claim.grid["iteration"]
    best = {place["name"]: {task: best_bucket(claim, place, task) for task in ("image", "text")}
            for place in claim.grid["places"]}
    for repeat in range(claim.grid["repeats"]):
        for place in claim.grid["places"]:
            for name, variant in grid["variants"].items():
                claim.cell("E1", place["name"], "both", name, repeat,
                           lambda place=place, variant=variant: share(claim, place, variant, best[place["name"]],
                                                                      claim.grid["seeds"][repeat]))


def share(claim, place, variant, best, seed):
    settings = {"policy.name": variant["policy"]}
    if place.get("spread") and "placement" in variant:
        settings["policy.placement"] = variant["placement"]
    for number, task in enumerate(("image", "text"), 1):
        settings["tasks.%d.steps" % number] = claim.grid["iteration"]["steps"][task]
        settings["tasks.%d.overrides" % number] = {**claim.data_of(task), "run.seed": seed, "data.test": None,
                                                   **exchange_of(variant, best[task])}
    rows, record = claim.share(place, settings)
    values = {"together_s": max(one["end_s"] for one in record["intervals"])}
    for row in rows:
        values[row["run"] + "_s"] = float(row["step_s"])
    return values


def measure_simulation(claim):
    """E1 on published tables."""
    grid = claim.grid["simulation"]
    for work in grid["work"]:
        for image in grid["image"]:
            for text in grid["text"]:
                for gpus in grid["gpus"]:
                    names = (image, text)
                    claim.cell("simulation", "%d GPUs" % gpus, "%s and %s" % names, work, 0, lambda names=names,
                               gpus=gpus, work=work: plan(claim, grid["tables"], names, gpus, work))


def plan(claim, tables, names, gpus, work):
    """Seconds until both are done; nothing where one of them has no rate that its work could be sized by."""
    tasks = []
    for name in names:
        path = ROOT / tables / (name + ".csv")
        rate = rate_of(path, gpus, work)
        if rate is None:
            return {}
        tasks.append({"name": name, "table": str(path), "layout": "rubick", "work": rate * 3600})
    line = claim.plan({"machine": {"gpus": gpus}, "objective": "makespan", "tasks": tasks})
    return {"together_s": line["value"], "equal_s": line["baselines"]["equal"],
            "sequential_s": line["baselines"]["sequential"]}


def rate_of(path, gpus, work):
    """Iterations a second that the work is an hour of: of the fastest row, or of the fastest of those with the most
    GPUs in half of them, as an equal split has. A placement has a digit for each node; a time of 0 did not run."""
    rows = []
    for line in path.read_text().splitlines()[1:]:
        _, placement, seconds = line.split(",")[:3]
        if float(seconds) > 0:
            rows.append((sum(map(int, placement)), 1 / float(seconds)))
    if work == "best rate":
        return max((rate for number, rate in rows if number <= gpus), default=None)
    return max((row for row in rows if row[0] <= gpus // 2), default=(0, None))[1]


def measure_communication(claim):
    """E3: gradients between two nodes."""
    grid = claim.grid["communication"]
    places = [place for place in claim.grid["places"] if place["name"] in grid["places"]]
    variants = communication_variants(claim)
    for repeat in range(grid["repeats"]):
        seed = claim.grid["seeds"][repeat]
        for place in places:
            for task in grid["tasks"]:
                for variant in variants:
                    claim.cell("E3", place["name"], task, variant["name"], repeat, lambda place=place, task=task,
                               variant=variant: exchange(claim, place, task, variant, seed), facts_of(variant))


def facts_of(variant):
    return {name: bool(variant.get(name)) for name in ("lossy", "apart", "control")}


def communication_variants(claim):
    """Those that this multicard can run, with all of their settings."""
    found, settings = [], {}
    for variant in claim.grid["communication"]["variants"]:
        key = variant.get("needs")
        if key and not claim.knows(key):
            claim.leave_out("E3 " + variant["name"], "this multicard has no key %s" % key)
            continue
        own = {**(found[0]["settings"] if variant.get("apart") else settings), **variant["settings"]}
        found.append({**variant, "settings": own})
        if not variant.get("apart"):
            settings = own
    return found


def exchange(claim, place, task, variant, seed):
    """Bytes as the difference between N and 2 N steps; times and the loss of 2 N, the same number of samples for
    all."""
    times, grid = variant.get("accumulate", 1), claim.grid["communication"]
    batch = claim.batch_of(task) * times
    steps = grid["steps"][task]
    if steps % times:
        raise SystemExit("study_claim: %d steps of %s cannot be divided by %d" % (steps, task, times))
    settings = {**variant["settings"], "run.seed": seed, "run.global_batch": batch}
    if times > 1:
        settings["run.micro_batch"] = batch // times // sum(place["ranks"])
    short = claim.exchange_run(place, task, {**settings, "run.steps": steps // times})
    long = claim.exchange_run(place, task, {**settings, "run.steps": 2 * steps // times})
    silent = claim.exchange_run(place, task, {**settings, "run.steps": 2 * steps // times,
                                              "parallel.backend": "none"})
    more, samples = steps // times, steps // times * batch
    counted = (long["payload"] - short["payload"]) * factor_of(place, variant["settings"]) / samples
    return {"counted_bytes": counted, "link_bytes": (long["link"] - short["link"]) / samples,
            "step_s": long["step_s"] / times, "null_s": silent["step_s"] / times,
            "inside_s": long["inside_s"] / (2 * more) / times, "loss": long["loss"]}


def factor_of(place, settings):
    """How many times the gradients' bytes leave a node in an all-reduce: the ranks of a node that exchange with others
    each send a part of what they have, and a part of the sum, to everyone elsewhere."""
    per_node, nodes = place["ranks"][0], len(place["ranks"])
    if settings.get("parallel.hierarchy", True):
        return 2 * (nodes - 1) / nodes
    ranks = per_node * nodes
    return 2 * per_node * (ranks - per_node) / ranks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grid", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--images", required=True)
    parser.add_argument("--texts", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    started = time.monotonic()
    claim = Claim(options, ROOT)
    claim.begin({"processors": os.cpu_count(), "machine": processor_name(),
                 "load": round(os.getloadavg()[0], 2)})
    measure_simulation(claim)
    with Nodes(claim):
        measure_iteration(claim)
        measure_communication(claim)
    claim_memory.measure(claim)
    claim.line({"claim": "time", "seconds": round(time.monotonic() - started)})
    say("claim: %d lines in %s" % (number_of(claim.path), claim.path))


def processor_name():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


if __name__ == "__main__":
    sys.exit(main())
