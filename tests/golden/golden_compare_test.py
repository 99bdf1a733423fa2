#!/usr/bin/env python3
"""Every number of `multicard-post A B --compare`, computed from the results files by docs/compare.md and compared.

usage: golden_compare_test.py CLASS   MULTICARD_BIN is the folder of the programs, MULTICARD_SOURCE the tree.
"""

import gzip
import json
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from golden_case import POST, SOURCE

import h5py
import numpy as np
from intervals import of_repeats, of_steps, ratio, student

PHASES = ("data_wait", "transfer", "forward", "backward", "reduce_wait", "update", "other")


class Run:
    """What the comparison needs of one run, from its group."""

    def __init__(self, group):
        steps = {name: group["steps"][name][:] for name in group["steps"]}
        time = steps["step"]
        at = np.arange(time.shape[1]) >= int(group["steps"].attrs["skip_steps"])
        slowest = time.max(axis=0)
        counted = steps["tokens" if "tokens" in steps else "samples"].sum(axis=0)
        self.step, self.rate = of_steps(slowest[at]), of_steps((counted / slowest)[at])
        self.means = {name: mean_of(steps[name].mean(axis=0)[at], 6) for name in ("step", *PHASES)}
        self.ranks, self.settings = time.shape[0], {key: group.attrs[key] for key in group.attrs}
        self.complete = plain(group.attrs["status"]) == "complete"
        self.memory = {name: int(group["memory"][name][:].max()) for name in ("host_peak_bytes", "device_peak_bytes")}
        totals = group["communication"]
        self.exchanged = {kind: float(totals[kind]["seconds_total"][:].mean()) / time.shape[1] for kind in totals}


def plain(value):
    return value.decode() if isinstance(value, bytes) else value


def mean_of(values, least):
    """Value and half width of Student's interval of the mean; infinite where there are fewer than `least` values."""
    values = np.asarray(values, dtype=float)
    count = len(values)
    half = student(count - 1) * values.std(ddof=1) / math.sqrt(count) if count >= max(least, 2) else math.inf
    return float(values.mean()), half


class Cell:
    def __init__(self, runs):
        self.step, self.rate = of_repeats([run.step for run in runs]), of_repeats([run.rate for run in runs])
        self.means = {name: runs[0].means[name] if len(runs) == 1 else
                      mean_of([run.means[name][0] for run in runs], 2) for name in ("step", *PHASES)}
        self.memory = {name: max(run.memory[name] for run in runs) for name in runs[0].memory}
        self.exchanged = {kind: sum(run.exchanged.get(kind, 0) for run in runs) / len(runs)
                          for kind in set().union(*(run.exchanged for run in runs))}


def cells_of(path, *axes):
    """By number of ranks and the values of the axes."""
    groups = {}
    with h5py.File(path) as file:
        for group in file["runs"].values():
            run = Run(group)
            if run.complete:
                groups.setdefault((run.ranks, *(plain(run.settings[axis]) for axis in axes)), []).append(run)
    return {key: Cell(runs) for key, runs in groups.items()}


class Compare(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="multicard-compare-")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name)
        for name in ("strong", "more_ranks", "options", "profile_cpu", "training"):
            packed = SOURCE / f"tests/data/reports/{name}.h5.gz"
            (cls.folder / f"{name}.h5").write_bytes(gzip.decompress(packed.read_bytes()))

    def compared(self, a, b):
        done = subprocess.run([POST, f"{a}.h5", f"{b}.h5", "--compare", "--json"], cwd=self.folder, capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def near(self, shown, value, what):
        self.assertTrue(math.isclose(shown, value, rel_tol=1e-9, abs_tol=1e-15), f"{what}: {shown} is not {value}")

    def estimate(self, shown, known, what):
        self.near(shown["value"], known.value, what)
        if not known.certain:
            return self.assertIsNone(shown["interval_95"], what)
        for end, value in zip(shown["interval_95"], (known.low, known.high)):
            self.near(end, value, what)

    def cell(self, shown, a, b):
        self.estimate(shown["rate_ratio"], ratio(b.rate, a.rate), "rate_ratio")
        self.estimate(shown["step_ratio"], ratio(b.step, a.step), "step_ratio")
        known = ratio(b.rate, a.rate)
        sure = known.certain and known.high <= 100 * known.low and not known.low <= 1 <= known.high
        self.assertEqual(shown["measurable"], sure)
        whole = b.means["step"][0] - a.means["step"][0]
        self.assertEqual({phase["phase"] for phase in shown["phases"]}, set(PHASES))
        for phase in shown["phases"]:
            (mean_a, half_a), (mean_b, half_b) = a.means[phase["phase"]], b.means[phase["phase"]]
            by = phase["difference_s"]
            self.near(phase["a_s"]["value"], mean_a, "a_s")
            self.near(phase["b_s"]["value"], mean_b, "b_s")
            self.assertTrue(math.isclose(by["value"], mean_b - mean_a, rel_tol=1e-9, abs_tol=1e-12))
            if whole:
                self.assertTrue(math.isclose(phase["share"], (mean_b - mean_a) / whole, rel_tol=1e-6, abs_tol=1e-9))
            half = math.hypot(half_a, half_b)
            self.assertEqual(by["interval_95"] is None, math.isinf(half))
            if math.isfinite(half):
                self.assertTrue(math.isclose(by["interval_95"][1], mean_b - mean_a + half, rel_tol=1e-6, abs_tol=1e-9))
                self.assertEqual(phase["measurable"], abs(mean_b - mean_a) > half)
        self.assertEqual({memory["name"] for memory in shown["memory"]},
                         {name for name in a.memory if a.memory[name] > 0 or b.memory[name] > 0})
        for memory in shown["memory"]:
            known = (a.memory[memory["name"]], b.memory[memory["name"]])
            self.assertEqual((memory["a_bytes"], memory["b_bytes"]), known)
        spent = [{kind for kind, seconds in of.exchanged.items() if seconds > 0} for of in (a, b)]
        collectives = {item["name"]: item for item in shown["items"].get("collectives", [])}
        # Exposed and waiting times, "all_reduce, exposed", are of kinds that are there.
        self.assertEqual({name.split(", ")[0] for name in collectives}, spent[0] | spent[1] if all(spent) else set())
        for kind in spent[0] | spent[1] if all(spent) else ():
            self.near(collectives[kind]["a_s"], a.exchanged.get(kind, 0), kind)
            self.near(collectives[kind]["b_s"], b.exchanged.get(kind, 0), kind)

    def test_scaling_studies_are_compared_on_the_ranks_of_both(self):
        shown, a, b = self.compared("strong", "more_ranks"), cells_of(self.folder / "strong.h5"), \
            cells_of(self.folder / "more_ranks.h5")
        self.assertEqual([cell["ranks_a"] for cell in shown["configurations"]], [1, 2])
        ratios = []
        for cell in shown["configurations"]:
            key = (cell["ranks_a"],)
            self.cell(cell, a[key], b[key])
            ratios.append(ratio(b[key].rate, a[key].rate))
        numbers = shown["headline"]["numbers"]
        mean = math.prod(one.value for one in ratios) ** 0.5
        self.near(numbers["ratio"], mean, "ratio")
        down = math.hypot(*(math.log(one.value / one.low) for one in ratios)) / 2
        up = math.hypot(*(math.log(one.high / one.value) for one in ratios)) / 2
        self.near(numbers["ratio_low"], mean * math.exp(-down), "ratio_low")
        self.near(numbers["ratio_high"], mean * math.exp(up), "ratio_high")
        self.assertEqual(len(shown["only_b"]), 1)

    def test_sweeps_are_compared_configuration_by_configuration(self):
        axes = ("data.image_size", "data.layout", "parallel.strategy")
        shown, cells = self.compared("options", "options"), cells_of(self.folder / "options.h5", *axes)
        self.assertEqual(len(shown["configurations"]), len(cells))
        self.assertTrue(all(cell["same_run"] for cell in shown["configurations"]))
        self.assertRegex(shown["headline"]["text"], "^No measurable difference in speed between A and B")

    def test_single_runs_have_intervals_over_their_steps(self):
        shown, cells = self.compared("training", "training"), cells_of(self.folder / "training.h5")
        (cell,), (known,) = shown["configurations"], cells.values()
        self.cell(cell, known, known)
        self.assertEqual(cell["rate_ratio"]["interval_over"], "steps")

    def test_functions_of_mpi_are_those_of_the_profiles(self):
        shown = self.compared("profile_cpu", "profile_cpu")
        with h5py.File(self.folder / "profile_cpu.h5") as file:
            profile = [group for group in file["runs"].values()
                       if plain(group.attrs["strategy"]) == "dp"][0]["profile"]
            steps = profile["window"]["steps"][:].sum()
            mpi = profile["mpi"]
            known = {}
            for name, ns in zip(mpi["name"][:], mpi["total_ns"][:]):
                known[plain(name)] = known.get(plain(name), 0) + 1e-9 * float(ns) / float(steps)
        cell = [cell for cell in shown["configurations"] if cell["configuration"].startswith("dp ")][0]
        self.assertEqual({item["name"] for item in cell["items"]["mpi"]}, set(known))
        for item in cell["items"]["mpi"]:
            self.near(item["a_s"], known[item["name"]], item["name"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
