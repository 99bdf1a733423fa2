"""E2 of the study of the circulating claim: allocated bytes averaged over time, over the capacity."""
import os
import sys
import tempfile
from pathlib import Path

from claim_runs import numbers_in

GIB = 2**30


def measure(claim):
    grid = claim.grid["memory"]
    place = {"name": "one node", "ranks": [2]}
    for repeat in range(claim.grid["repeats"]):
        for variant in grid["variants"]:
            claim.cell("E2", "CPU", variant["task"], variant["name"], repeat,
                       lambda variant=variant: on_cpu(claim, place, variant, claim.grid["seeds"][repeat]),
                       facts_of(variant))
    if grid["simulated_gpu"]:
        measure_simulated(claim, grid["simulated_gpu"])


def facts_of(variant):
    return {"base": variant["base"]} if "base" in variant else {}


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


def measure_simulated(claim, grid):
    """A step of Llama-3-8B on the fake GPU, whose memory is real: bytes averaged over the allocations of the step. It
    computes nothing, so there is no rate."""
    build = os.environ.setdefault("MULTICARD_BUILD", str(claim.root / "build/release"))
    if not Path(build, "fake_gpu/libcudart.so.13").exists():
        return claim.leave_out("E2 on a simulated GPU", "there is no fake GPU: build the target tests/fake_gpu/all")
    os.environ.setdefault("MULTICARD_BIN", build + "/bin")
    os.environ.setdefault("MULTICARD_SOURCE", str(claim.root))
    sys.path.insert(0, str(claim.root / "tests/fake_gpu"))
    with tempfile.TemporaryDirectory() as folder:
        for variant in grid["variants"]:
            claim.cell("E2", "simulated GPU, 8B", "text", variant["name"], 0,
                       lambda variant=variant: on_fake_gpu(claim, Path(folder), grid, variant), facts_of(variant))
    return None


def on_fake_gpu(claim, folder, grid, variant):
    from decks import COUNTED, Inputs
    from fake_run import run
    inputs, output = Inputs(folder), claim.fresh("fake")
    shape, config = inputs.shape("llama3_8b_shape")
    settings = {**variant["settings"], "data.max_length": grid["tokens"], "run.global_batch": grid["rows"]}
    code, _, err = run(1, "run", claim.root / "inputs/llm/llama3_8b_1gpu.yaml", *COUNTED,
                       inputs.rows(config, grid["tokens"], 4 * grid["rows"]), "data.packing=false",
                       "data.shuffle=false", "model.path=%s" % shape, "model.random_weights=true", "run.steps=3",
                       "run.output=%s" % output, "profile={enabled: true, memory: true, skip_steps: 2, steps: 1}",
                       *("%s=%s" % pair for pair in settings.items()),
                       memory_mib=grid["capacity_gib"] * 1024, timeout=1200)
    if code:
        raise SystemExit("study_claim: a run on the fake GPU ended with %d\n%s" % (code, err[-3000:]))
    table = "/runs/main/profile/device_memory/"
    count, total = (numbers_in(output / "results.h5", table + name)[0] for name in ("count", "allocated_bytes"))
    return {"mean_bytes": total / count, "capacity_bytes": grid["capacity_gib"] * GIB}
