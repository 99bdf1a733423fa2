"""What a training run on GPUs may ask for, in combinations: all of them, or so few that every value or every pair of
values occurs."""

import itertools
import math
import shutil
from pathlib import Path

from fake_run import run

IMAGE = {
    "ranks": [1, 2, 4],
    "parallel.strategy": ["ddp-ds", "ddp", "dp"],
    "precision": ["fp32", "bf16", "fp16", "fp64", "tf32"],
    "parallel.sync_batch_norm": ["false", "true"],
    "parallel.gradient_dtype": ["same", "bf16", "fp16"],
    "parallel.powersgd_rank": ["0", "2"],
    "run.micro_batch": ["null", "3"],
    "data.pipeline": ["host", "device"],
}
LANGUAGE = {
    "ranks": [1, 2],
    "parallel.strategy": ["ddp-ds", "ddp", "dp"],
    "model.dtype": ["fp32", "bf16"],
    "method": ["{name: lora, rank: 4, alpha: 8}", "{name: full}"],
    "parallel.gradient_dtype": ["same", "bf16"],
    "model.activation_checkpointing": ["false", "true"],
    "data.packing": ["false", "true"],
    "run.micro_batch": ["null", "1"],
}


def is_allowed(case):
    """Gradients of float64 are sent as they are, and dp sums to one rank, where PowerSGD is for all."""
    if case.get("parallel.powersgd_rank", "0") != "0" and case["parallel.strategy"] == "dp":
        return False
    return case.get("precision") != "fp64" or case["parallel.gradient_dtype"] == "same"


def all_cases(values):
    cases = [dict(zip(values, chosen)) for chosen in itertools.product(*values.values())]
    return [case for case in cases if is_allowed(case)]


def combinations_of(case, number):
    return set(itertools.combinations(case.items(), number))


def covering_cases(values, size):
    """As few cases as hold every combination of `size` values (1 or 2): greedy, always the case with the most that have
    not occurred yet, of equals that with the most such pairs."""
    cases = all_cases(values)
    missing = {number: set().union(*(combinations_of(case, number) for case in cases)) for number in (size, 2)}
    chosen = []
    while missing[size]:
        best = max(cases, key=lambda case: [len(combinations_of(case, number) & missing[number]) for number in missing])
        chosen.append(best)
        for number in missing:
            missing[number] -= combinations_of(best, number)
    return chosen


def check_case(test, deck, case, steps=3):
    """Trains some steps, resumes from the checkpoint for as many, and looks at what is recorded."""
    overrides = ["%s=%s" % item for item in case.items() if item[0] != "ranks"]
    shutil.rmtree(test.path("out"), True)
    for done, texts in ((steps, []), (2 * steps, ["resuming from"])):
        test.expect(0, run(case["ranks"], "run", deck, "run.steps=%d" % done, *overrides), *texts)
        checkpoint = Path(test.path("out/checkpoints/step_%08d" % done))
        test.assertTrue((checkpoint / "COMPLETE").exists(), checkpoint)
    results = test.path("out/results.h5")
    losses = [float(x) for x in test.dataset(results, "/runs/main/metrics/train_loss")]
    test.assertTrue(losses and all(map(math.isfinite, losses)), losses)
    test.assertEqual(len(test.dataset(results, "/runs/main/steps/step")), 2 * steps * case["ranks"])
    test.assertIn('"complete"', test.attribute(results, "/runs/main/status"))
