"""E2 of the study of the circulating claim: allocated bytes averaged over time, over the capacity."""
from pathlib import Path

from claim_runs import numbers_in


def measure(claim):
    grid = claim.grid["memory"]
    place = {"name": "one node", "ranks": [2]}
    for repeat in range(claim.grid["repeats"]):
        for variant in grid["variants"]:
            facts = {"base": variant["base"]} if "base" in variant else {}
            claim.cell("E2", "CPU", variant["task"], variant["name"], repeat,
                       lambda variant=variant: on_cpu(claim, place, variant, claim.grid["seeds"][repeat]), facts)


def on_cpu(claim, place, variant, seed):
    task, ranks = variant["task"], sum(place["ranks"])
    row, results = claim.run(place, task, {"run.steps": claim.grid["memory"]["steps"][task], "data.test": None,
                                           "run.seed": seed, **variant["settings"]})
    mean = numbers_in(results, "/runs/main/memory/host_tensor_mean_bytes")
    return {"mean_bytes": sum(mean) / len(mean), "capacity_bytes": total_memory() / ranks,
            "rate_per_s": float(row["rate_per_s"])}


def total_memory():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("study_claim: /proc/meminfo has no MemTotal")
