#!/usr/bin/env python3
"""What a steady step does, counted as the difference of two runs: nothing that makes the host wait for the GPU.

usage: steady_test.py NAME   runs one test class; see fake_run.py
"""

from fake_run import FakeGpuTest, main, number_in

STRATEGIES = [(1, "ddp-ds"), (2, "dp"), (2, "ddp"), (2, "ddp-ds")]
MORE = 200


class SteadyTest(FakeGpuTest):
    def check_steps(self, deck, *overrides):
        for ranks, strategy in STRATEGIES:
            with self.subTest(ranks=ranks, strategy=strategy):
                for rank, counts in enumerate(self.steady(ranks, deck, "parallel.strategy=" + strategy, *overrides,
                                                          more=MORE)):
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
        # Batches that happen to be under way at the end differ from run to run; what each step leaves does not hide.
        self.assertLess(steps.number("call", "cudaHostAlloc"), MORE / 10, who)
        self.assertLess(steps.live_events, MORE / 10, who + ": events are made and not destroyed")


class SteadyImages(SteadyTest):
    def test_host_pipeline(self):
        self.check_steps(self.image)

    def test_device_pipeline(self):
        self.check_steps(self.image, "data.pipeline=device")

    def test_fp16_with_loss_scaling(self):
        self.check_steps(self.image, "precision=fp16")


class SteadyLanguage(SteadyTest):
    def test_lora(self):
        self.check_steps(self.language)

    def test_full_tuning(self):
        self.check_steps(self.language, "method={name: full}", "optimizer.learning_rate=1e-4")

    def test_moments_of_8_bits(self):
        self.check_steps(self.language, "method={name: full}", "optimizer={name: adamw8bit, learning_rate: 1e-4}")


class Uploads(FakeGpuTest):
    """With streams that work at a pace of their own, slower than the host."""

    def check_uploads(self, deck, *overrides):
        counts, = self.steady(1, deck, *overrides, short=6, more=10, is_async=True, kernel_us=200)
        self.assertGreaterEqual(counts.number("upload", "asked while the device works"), 10)
        # Only the first step's may differ between two runs: they meet what building the network has left.
        self.assertLess(counts.number("upload", "asked of an idle device"), 5)

    def test_the_next_images_go_up_while_the_device_works(self):
        self.check_uploads(self.image)
        self.check_uploads(self.image, "data.pipeline=device")

    def test_the_next_tokens_go_up_while_the_device_works(self):
        self.check_uploads(self.language)


class Copies(FakeGpuTest):
    def check_copies(self, deck, *overrides):
        recorded, counted = [], []
        for steps in (2, 6):
            counts, = self.counts(1, "run", deck, "run.steps=%d" % steps, *overrides)
            recorded.append(number_in(self.path("out/results.h5"), "transfers/device_to_device"))
            counted.append(counts.bytes_copied("device -> device"))
        self.assertGreater(recorded[1], recorded[0])
        self.assertEqual(counted[1] - counted[0], recorded[1] - recorded[0])

    def test_those_within_the_device_are_recorded(self):
        self.check_copies(self.image)
        self.check_copies(self.language)


if __name__ == "__main__":
    main()
