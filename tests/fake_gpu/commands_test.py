#!/usr/bin/env python3
"""Every command on the fake GPU, and combinations of what a run on GPUs may ask for: they start, step, save, resume and
end.

usage: commands_test.py NAME   runs one test class; see fake_run.py
"""

import json
import math
import os
import re
import subprocess
from pathlib import Path

from cases import IMAGE, LANGUAGE, check_case, covering_cases
from fake_run import H5DUMP, IMAGE_DECK, FakeGpuTest, counts_of_run, main, memory_of, run

FULL = os.environ.get("MULTICARD_TEST_FULL") == "1"


class Commands(FakeGpuTest):
    def test_the_self_test_adds_over_ranks(self):
        for ranks in (1, 2, 4) if FULL else (1, 2):
            with self.subTest(ranks=ranks):
                result = self.expect(0, run(ranks, "info", "--selftest", "--json"))
                info = json.loads(result[1])
                self.assertEqual([rank["device"][:4] for rank in info["ranks"]], ["cuda"] * ranks)
                self.assertTrue(info["selftest"]["all_reduce"]["correct"])

    def test_images_are_trained_evaluated_and_swept(self):
        self.expect(0, run(2, "run", self.image, "evaluate.every_epochs=1", "run.epochs=1", "run.steps=null"))
        checkpoint = max(Path(self.path("out/checkpoints")).glob("step_*"))
        code, out, err = run(2, "eval", checkpoint, "--json")
        self.assertEqual(code, 0, err)
        self.assertEqual(json.loads(out)["samples"], 64)
        self.write("base.yaml", IMAGE_DECK.replace("steps: 4", "epochs: 1"))
        sweep = self.write("sweep.yaml", "base: base.yaml\nrun: {output: SCRATCH/sweep}\n"
                                         "limits: {steps: 4, skip_steps: 1}\n"
                                         "sweep: {ranks: [1, 2], precision: [fp32, bf16]}\n")
        self.expect(0, run(2, "sweep", sweep), r"\[4/4\]")
        self.assertEqual({"complete"}, {one["status"] for one in self.runs(self.path("sweep/results.h5"))})

    def test_a_variant_keeps_no_memory_of_the_one_before(self):
        self.write("base.yaml", IMAGE_DECK)
        sweep = self.write("sweep.yaml", "base: base.yaml\nrun: {output: SCRATCH/sweep}\n"
                                         "limits: {steps: 3, skip_steps: 1}\nsweep: {data.image_size: [400, 32]}\n")
        self.expect(0, run(1, "sweep", sweep))
        large, small = (memory_of(self.path("sweep/results.h5"), name) for name in ("0000", "0001"))
        for kind in ("device_peak_bytes", "device_reserved_bytes"):
            self.assertLess(small[kind], large[kind] / 2)

    def test_the_sensors_of_gpus_are_recorded(self):
        for is_slice in (0, 1):
            with self.subTest(is_slice=is_slice):
                self.expect(0, run(1, "run", self.image, "run.resume=never", is_slice=is_slice))
                columns = {name: [float(value) for value in self.dataset(self.path("out/results.h5"), path)]
                           for name, path in self.resources().items()}
                self.assertEqual(set(columns["gpu_power_w"]), {350})
                self.assertEqual(set(columns["gpu_throttle_reasons"]), {4})
                self.assertEqual(set(columns["gpu_sm_clock_mhz"]), {1755})
                self.assertAlmostEqual(sum(columns["gpu_energy_j"]), 350 * sum(columns["interval_s"]), delta=35)
                self.assertEqual(set(columns.get("gpu_busy", [])), set() if is_slice else {0.75})

    def test_steps_and_phases_are_nvtx_ranges(self):
        for steps in (3, 5):  # the second run resumes after the first
            counts, = counts_of_run(self.path("counts"), 1, "run", self.image, "run.steps=%d" % steps)
            ranges = counts.calls["range"]
            new = range(0 if steps == 3 else 3, steps)
            self.assertEqual({name: number for name, number in ranges.items() if name.startswith("step ")},
                             {"step %d" % step: 1 for step in new})
            for phase in ("data_wait", "forward", "backward"):  # others are entered several times a step
                self.assertEqual(ranges[phase], len(new), phase)

    def resources(self):
        """The paths of the columns of samples, by name."""
        done = subprocess.run([H5DUMP, "-n", self.path("out/results.h5")], capture_output=True, text=True)
        return {name: "/runs/main/resources/" + name
                for name in re.findall(r"dataset +/runs/main/resources/(\w+)", done.stdout)}

    def test_more_ranks_than_gpus_can_be_asked_about(self):
        code, out, err = run(2, "info", "--selftest", "--json", devices=1)
        self.assertEqual(code, 0, err)
        self.assertEqual(len(json.loads(out)["ranks"]), 2)

    def test_segments_that_grow_are_memory_too(self):
        """The allocator's setting of slurm/env/h100.sh, which goes through the driver."""
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
        self.addCleanup(os.environ.pop, "PYTORCH_CUDA_ALLOC_CONF")
        counts, = self.counts(1, "run", self.image)
        self.assertGreater(counts.number("call", "cuMemCreate"), 0)
        self.assertGreater(counts.peak_device_bytes, 10 << 20)

    def test_a_language_model_is_tuned_asked_and_exported(self):
        self.expect(0, run(2, "run", self.language, "evaluate={every_steps: 2, prompts: ['Name a colour.']}"))
        checkpoint = max(Path(self.path("out/checkpoints")).glob("step_*"))
        code, out, err = run(1, "eval", checkpoint, "--json")
        self.assertEqual(code, 0, err)
        self.assertTrue(math.isfinite(json.loads(out)["loss"]))
        code, out, err = run(1, "generate", checkpoint, "--greedy", "--json", "--max-new", "5", "Name a colour.")
        self.assertEqual(code, 0, err)
        self.assertLessEqual(len(json.loads(out)["ids"]), 5)
        self.expect(0, run(1, "export", checkpoint, self.path("adapter")), "PEFT adapter")
        self.expect(0, run(1, "export", checkpoint, self.path("merged"), "--merge", "original"))


class CombinationsTest(FakeGpuTest):
    """Every value of an option occurs in one of the cases; with MULTICARD_TEST_FULL=1 every two values of two options
    together. matrix.py runs all combinations."""

    def check(self, deck, values):
        for case in covering_cases(values, 2 if FULL else 1):
            with self.subTest(**case):
                check_case(self, deck, case)


class ImageOptions(CombinationsTest):
    def test_combinations(self):
        self.check(self.image, IMAGE)


class TextOptions(CombinationsTest):
    def test_combinations(self):
        self.check(self.language, LANGUAGE)


if __name__ == "__main__":
    main()
