#!/usr/bin/env python3
"""What the later steps of a run do: nothing that makes the host wait for the GPU.

usage: steady_test.py NAME   runs one test class; see fake_run.py
"""

import os
import re
import subprocess
from pathlib import Path

from fake_run import MULTICARD, FakeGpuTest, main, number_in
from tuning_case import deeper_model

STRATEGIES = [(1, "ddp-ds"), (2, "dp"), (2, "ddp"), (2, "ddp-ds")]
# What a strategy does has been seen with one setting; the others run under two, by scripts/test.sh --full under all.
TWO_STRATEGIES = STRATEGIES if os.environ.get("MULTICARD_TEST_FULL") == "1" else STRATEGIES[:2]
MORE = 100


class SteadyTest(FakeGpuTest):
    def check_steps(self, deck, *overrides, strategies=TWO_STRATEGIES, first=20):
        for ranks, strategy in strategies:
            with self.subTest(ranks=ranks, strategy=strategy):
                for rank, counts in enumerate(self.steady(ranks, deck, "parallel.strategy=" + strategy, *overrides,
                                                          first=first, more=MORE)):
                    self.check_rank(counts, "rank %d" % rank)

    def check_rank(self, steps, who):
        """`steps`: the counts of MORE steps."""
        waits = steps.waits()
        self.assertEqual(0, waits["cudaStreamSynchronize"], who)
        self.assertEqual(0, waits["cudaDeviceSynchronize"], who)
        self.assertLessEqual(waits["cudaEventSynchronize"], MORE, who)
        launches = steps.launches() / MORE
        self.assertGreater(launches, 100, "the fake GPU was used")
        # An event of the step before is older than most of a step; one of this step is not.
        young = [age for age in steps.event_wait_ages if age < launches / 2]
        self.assertEqual([], young, "%s waited for an event of the same step (ages in operations)" % who)
        self.assertEqual(0, steps.copies("blocking"), who)
        self.assertEqual(0, steps.copies("pageable"), who)
        for call in ("cudaMalloc", "cudaFree", "cuMemCreate"):
            self.assertEqual(0, steps.number("call", call), who + ": " + call)
        # Batches that happen to be under way differ from moment to moment; what each step leaves does not hide.
        self.assertLess(steps.number("call", "cudaHostAlloc"), MORE / 10, who)
        self.assertLess(steps.live_events, MORE / 5, who + ": events are made and not destroyed")


class SteadyImages(SteadyTest):
    def test_host_pipeline(self):
        self.check_steps(self.image, strategies=STRATEGIES)

    def test_device_pipeline(self):
        self.check_steps(self.image, "data.pipeline=device")

    def test_fp16_with_loss_scaling(self):
        self.check_steps(self.image, "precision=fp16")


class SteadyLanguage(SteadyTest):
    def test_lora(self):
        self.check_steps(self.language, strategies=STRATEGIES)

    def test_full_tuning(self):
        self.check_steps(self.language, "method={name: full}", "optimizer.learning_rate=1e-4")

    def test_split_weights(self):
        model = self.path("deep")
        deeper_model(model, 5)
        for method, shard, ranks in (("full", "shard: full", 2), ("full", "shard: hybrid, shard_group: 2", 4),
                                     ("full", "shard: optimizer", 2), ("qlora, rank: 4", "shard: full", 2)):
            self.check_steps(self.language, "model.path=" + model, "method={name: %s}" % method,
                             "optimizer.learning_rate=1e-4", "parallel={%s}" % shard, strategies=[(ranks, "ddp-ds")],
                             first=60)  # each rank has had its longest row

    def test_moments_of_8_bits(self):
        self.check_steps(self.language, "method={name: full}", "optimizer={name: adamw8bit, learning_rate: 1e-4}")


class Uploads(FakeGpuTest):
    """With streams that work at a pace of their own, slower than the host."""

    def check_uploads(self, deck, *overrides):
        counts, = self.steady(1, deck, *overrides, first=6, more=10, is_async=True, kernel_us=200)
        self.assertGreaterEqual(counts.number("upload", "asked while the device works"), 10)
        # Only the first step's may differ between two runs: they meet what building the network has left.
        self.assertLess(counts.number("upload", "asked of an idle device"), 5)

    def test_the_next_images_go_up_while_the_device_works(self):
        self.check_uploads(self.image)
        self.check_uploads(self.image, "data.pipeline=device")

    def test_the_next_tokens_go_up_while_the_device_works(self):
        self.check_uploads(self.language)


class Copies(FakeGpuTest):
    """Those within the device."""

    def copies(self, deck, steps, *overrides):
        """Bytes that the results file has and that were counted."""
        counts, = self.counts(1, "run", deck, "run.steps=%d" % steps, *overrides)
        return (number_in(self.path("out/results.h5"), "transfers/device_to_device"),
                counts.bytes_copied("device -> device"))

    def check_copies(self, deck, *overrides):
        (few, few_counted), (more, more_counted) = (self.copies(deck, steps, *overrides) for steps in (2, 6))
        self.assertEqual(more_counted - few_counted, more - few)
        a_step = (more - few) / 4
        self.assertGreater(few, a_step)  # the first step may copy less
        self.assertLessEqual(few, 2 * a_step)

    def test_those_of_steps_are_recorded(self):
        self.check_copies(self.image)
        self.check_copies(self.language)

    def test_those_of_evaluations_and_of_the_average_are_not(self):
        full = ("method={name: full}", "optimizer.learning_rate=1e-4")
        plain, _ = self.copies(self.language, 3, *full)
        recorded, counted = self.copies(self.language, 3, *full, "run.ema_decay=0.9",
                                        "evaluate={at_start: true, every_steps: 1}")
        self.assertEqual(recorded, plain)
        self.assertGreater(counted, 2 * recorded)

    def test_every_function_of_libtorch_that_copies_is_counted(self):
        needed = Path(os.environ["MULTICARD_BUILD"], "tests/fake_gpu/needs.txt").read_text()
        copying = set(re.findall(r"^(cudaMemcpy\w*)@", needed, re.M)) - {"cudaMemcpyToSymbol"}  # from the host
        exported = subprocess.run(["nm", "-D", "--defined-only", MULTICARD], capture_output=True, text=True, check=True)
        self.assertGreaterEqual(len(copying), 3)
        self.assertEqual(copying - set(exported.stdout.split()), set())


if __name__ == "__main__":
    main()
