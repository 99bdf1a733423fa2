"""The findings about a run on CPUs, from its group in the results file alone, by the table in docs/report.md."""

import math

import numpy as np

from intervals import of_steps

LEAST_STEPS, NOTICEABLE, NOTICEABLE_WAIT = 20, 0.1, 0.2


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def stage_sums(group):
    """Seconds and bytes of the stages of all ranks together: {stage: (seconds, bytes)}."""
    if "input/stages" not in group:
        return {}
    table, out = group["input/stages"], {}
    for name, seconds, size in zip(table["name"][:], table["seconds"][:], table["bytes"][:]):
        before = out.get(text(name), (0.0, 0.0))
        out[text(name)] = (before[0] + float(seconds), before[1] + float(size))
    return out


def core_waits(group):
    """The share of its time that each rank waited for a core."""
    if "resources/core_wait_s" not in group:
        return []
    waits, intervals = group["resources/core_wait_s"][:], group["resources/interval_s"][:]
    known = np.isfinite(waits) & np.isfinite(intervals)
    return [float(wait[there].sum() / interval[there].sum()) if there.any() else math.nan
            for wait, interval, there in zip(waits, intervals, known)]


def straggler(steps, whole, waits):
    own = steps["step"][:, whole] - steps["reduce_wait"][:, whole]
    worst = None
    for rank in range(len(own)) if len(own) > 1 and len(whole) else []:
        slowness = of_steps(own[rank] / np.median(np.delete(own, rank, axis=0), axis=0))
        has_cause = rank < len(waits) and waits[rank] >= NOTICEABLE_WAIT
        if slowness.certain and slowness.low > 1 and not has_cause and (worst is None or slowness.value > worst[1]):
            worst = (rank, slowness.value)
    if worst is None or 1 - 1 / worst[1] < NOTICEABLE:
        return {}
    return {"straggler": {"rank": worst[0], "share": 1 - 1 / worst[1], "slowness": worst[1]}}


def of_data(run, group, steps, data_wait):
    stages = stage_sums(group)
    read, size = stages.get("read", (0.0, 0.0))
    transform, _ = stages.get("transform", (0.0, 0.0))
    rows = float(steps["samples"].sum())
    if run.deck.get("parallel.strategy") == "ddp":
        rows *= run.ranks
    if stages and read > rows * 0.2e-3 + size / 200e6 and read >= transform:
        return {"slow_storage": {"share": data_wait, "row_ms": 1e3 * read / rows, "bytes_per_s": size / read}}
    return {"input_bound": {"share": data_wait}}


def of_communication(run, group, exposed):
    if "communication/all_reduce" in group:
        calls = group["communication/all_reduce/calls"][:]
        most = int(np.argmax(calls))
        size = group["communication/all_reduce/payload_bytes"][:][most]
        numbers = {"calls_per_step": float(calls[most]) / run.num_steps,
                   "bytes_per_call": float(size) / calls[most] if calls[most] else math.nan}
        is_chosen = run.deck.get("parallel.bucket_mb") == "auto"
        if not is_chosen and numbers["calls_per_step"] >= 8 and numbers["bytes_per_call"] < 250e3:
            return {"small_buckets": {"share": exposed, **numbers}}
    return {"exposed_communication": {"share": exposed}}


def skipped_updates(group):
    if "metrics/skipped" not in group:
        return {}
    values = group["metrics/skipped"][:] > 0
    done = np.flatnonzero(~values)
    tried = values[done[0]:] if len(done) else values[:0]
    number = int(tried.sum())
    if number < 3 or number / len(tried) < 0.05:
        return {}
    return {"skipped_updates": {"share": number / len(tried), "skipped": number, "updates": len(tried)}}


def expected_findings(run, group, steps):
    """{id: numbers} of a run whose measured steps are known."""
    if len(run.measured) < LEAST_STEPS:
        return {}
    time = steps["step"]
    whole = [i for i in run.measured if np.isfinite(time[:, i]).all()]
    waits = core_waits(group)
    out = {}
    known = [wait for wait in waits if math.isfinite(wait)]
    is_crowded = bool(known) and max(known) >= NOTICEABLE_WAIT
    if is_crowded:
        out["oversubscribed"] = {"rank": waits.index(max(known)), "share": max(known)}
    out.update(straggler(steps, whole, waits))
    if run.data_wait >= NOTICEABLE and not is_crowded:
        out.update(of_data(run, group, steps, run.data_wait))
    if len(time) > 1 and whole and not is_crowded:
        exposed = float(steps["reduce_wait"][:, whole].min(axis=0).sum() * len(time) / time[:, whole].sum())
        if exposed >= NOTICEABLE:
            out.update(of_communication(run, group, exposed))
    out.update(skipped_updates(group))
    return out


class FindingChecks:
    """Mixed into test cases with Checks."""

    def check_findings(self, found, study):
        """Those of each run, and those of the study, which are of the run with the largest share."""
        expected = {run.name: run.findings for run in study.runs}
        for entry in found["runs"]:
            self.assertEqual({one["id"]: sorted(one["numbers"]) for one in entry["findings"]},
                             {key: sorted(numbers) for key, numbers in expected[entry["name"]].items()},
                             "findings of run " + entry["name"])
            for one in entry["findings"]:
                self.check_finding(one, expected[entry["name"]][one["id"]], ())
        kinds = {key for findings in expected.values() for key in findings}
        self.assertEqual({one["id"] for one in found["findings"]}, kinds)
        for one in found["findings"]:
            having = [findings[one["id"]] for findings in expected.values() if one["id"] in findings]
            numbers = {**max(having, key=lambda of: of["share"]), "runs": len(having), "of_runs": len(expected)}
            self.check_finding(one, numbers, expected)

    def check_finding(self, found, expected, names):
        what = f"finding {found['id']}"
        self.assertEqual(sorted(found["numbers"]), sorted(expected), what)
        for name, value in found["numbers"].items():
            self.assert_same(value, expected[name], f"{what}: {name}")
        self.assert_printed(found["text"], names, expected.values(), what)
