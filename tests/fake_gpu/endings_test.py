#!/usr/bin/env python3
"""How runs on GPUs end when something goes wrong: exit codes and what is said.

usage: endings_test.py NAME   runs one test class; see fake_run.py
"""

import os
import re
import signal
import time
from pathlib import Path

from fake_run import CommandTest, FakeGpuTest, launch, main, ranks_of, run, wait_for
from tuning_case import deeper_model

ECC_ERROR = 214  # cudaErrorECCUncorrectable


class EndingsTest(FakeGpuTest):
    def start(self, ranks, *overrides, deck=None, **settings):
        """A run that lasts until something ends it."""
        process = launch(ranks, "run", deck or self.image, "run.steps=1000000", *overrides, **settings)
        self.addCleanup(CommandTest.kill_group, process)
        return process

    def start_and_wait(self, ranks, *overrides, **settings):
        """The same; returns once it trains."""
        process = self.start(ranks, "run.checkpoint_every=5", *overrides, **settings)
        wait_for(lambda: any(Path(self.path("out")).glob("checkpoints/step_*/COMPLETE")))
        return process

    def end(self, process, code, *texts, timeout=60):
        """Waits for it to end with this code, having said this."""
        _, said = process.communicate(timeout=timeout)
        self.assertEqual(process.returncode, code, said)
        for text in texts:
            self.assertRegex(said, text)
        return said


class DeviceErrors(EndingsTest):
    MEMORY_MIB = 4096

    def test_out_of_memory_in_spite_of_the_estimate(self):
        large = ["data.image_size=96", "run.global_batch=128", "model.width=1"]
        counts, = self.counts(1, "run", self.image, *large, memory_mib=self.MEMORY_MIB)
        enough_for_half = counts.peak_device_bytes // 2 >> 20
        result = run(1, "run", self.image, *large, "run.resume=never", memory_mib=self.MEMORY_MIB,
                     hidden_mib=self.MEMORY_MIB - enough_for_half)
        self.expect(3, result, "out of memory.*weights .*gradients .*optimizer .*activations", "micro_batch")

    def test_convolutions_that_find_no_memory(self):
        self.expect(3, run(1, "run", self.image, memory_mib=400, cudnn_workspace=900 << 20), "memory", "micro_batch")

    def test_an_error_of_one_gpu(self):
        self.expect(3, run(1, "run", self.image, "run.steps=1000", is_async=True, fail_at=5000, fail_error=ECC_ERROR),
                    "the device failed", "uncorrectable ECC error")

    def test_an_error_of_one_gpu_of_two(self):
        for failing in (0, 1):
            with self.subTest(rank=failing):
                process = self.start(2, is_async=True, fail_at=20000, fail_rank=failing, fail_error=ECC_ERROR)
                said = ""
                while "ECC" not in said and process.poll() is None:
                    said += process.stderr.readline()
                start = time.time()
                said += self.end(process, 3)
                self.assertLess(time.time() - start, 10)
                self.assertRegex(said, r"(?s)rank %d .*uncorrectable ECC error" % failing)
                self.assertNotIn("defect", said)
                self.assertNotIn("terminate called", said)


class MemoryOfOneRank(EndingsTest):
    """The second one has less than the first, and weights are split: the first would wait for it in a gather."""

    MEMORY_MIB = 4000
    WEIGHTS_MIB = 40 * 786432 / 2 / 2**20  # that a rank has of blocks, and of their gradients

    def setUp(self):
        super().setUp()
        self.model = self.path("deep")
        deeper_model(self.model, 40)

    def short(self, available_mib, method, *texts, **settings):
        """MiB that torch had given out when there was no more."""
        process = launch(2, "run", self.language, "model.path=" + self.model, "parallel.shard=full",
                         "method={name: %s}" % method, "run.timeout_s=20", "run.keep_checkpoints=0",
                         memory_mib=self.MEMORY_MIB, hidden_mib=self.MEMORY_MIB - available_mib, hidden_rank=1,
                         is_async=True, **settings)
        self.addCleanup(CommandTest.kill_group, process)
        said = self.end(process, 3, r"(?m)^(multicard|rank 1 on .*): the device is out of memory", "GPU 1 has", *texts)
        self.assertNotRegex(said, "did not finish|defect|terminate called")
        return float(re.search(r"Of the allocated memory ([\d.]+) MiB", said)[1])

    def test_weights(self):
        setup = "while the run was set up .*\n.*weights, gradients and optimizer state alone do not fit"
        for method in ("full", "lora, rank: 4"):
            self.assertLess(self.short(10, method, setup), self.WEIGHTS_MIB)

    def test_gradients_and_optimizer(self):
        setup = "while the run was set up .*\n.*weights, gradients and optimizer state alone do not fit"
        of_gradients, of_optimizer = (self.short(available, "full", setup) for available in (28, 64))
        self.assertGreater(of_gradients, self.WEIGHTS_MIB)
        self.assertLess(of_gradients, 2 * self.WEIGHTS_MIB)
        self.assertGreater(of_optimizer, 2 * self.WEIGHTS_MIB)

    def test_a_step(self):
        for method in ("full", "lora, rank: 4"):
            with self.subTest(method=method):
                self.short(100, method, "while the memory of a step was measured", "micro_batch")
                self.short(100, method, r"rank 1 on .*: .* in step 0 .*\n.*Lower run.micro_batch", hidden_from=1)


class OtherRanks(EndingsTest):
    def test_a_rank_that_stops_answering(self):
        process = self.start_and_wait(2, "run.timeout_s=3", is_async=True)
        os.kill(ranks_of(process)[1], signal.SIGSTOP)
        # Stopped between two collectives of the GPUs it is missed by the heartbeat.
        self.end(process, 5, r"did not finish within 3 s|rank 1 did not answer for \d+ s")

    def test_a_rank_that_calls_another_collective(self):
        self.end(self.start(2, "run.timeout_s=3", is_async=True, nccl_other=200, fail_rank=1), 5,
                 "did not finish within 3 s")

    def test_ranks_that_gather_for_each_other(self):
        model = self.path("deep")
        deeper_model(model, 5)
        words = ("run.timeout_s=3", "model.path=" + model, "method={name: full}", "parallel.shard=full")
        process = self.start_and_wait(2, *words, deck=self.language, is_async=True)
        os.kill(ranks_of(process)[1], signal.SIGSTOP)
        self.end(process, 5, r"did not finish within 3 s|rank 1 did not answer for \d+ s")
        self.end(self.start(2, *words, "run.resume=never", deck=self.language, is_async=True, nccl_other=200,
                            fail_rank=1), 5, "did not finish within 3 s")

    def test_a_rank_that_is_killed(self):
        process = self.start_and_wait(2, is_async=True)
        os.kill(ranks_of(process)[1], signal.SIGKILL)
        self.end(process, 137)

    def test_a_signal_to_stop(self):
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                output = "run.output=" + self.path("stopped%d" % ranks)
                process = launch(ranks, "run", self.image, "run.steps=1000000", "run.checkpoint_every=5", output,
                                 is_async=True)
                self.addCleanup(CommandTest.kill_group, process)
                wait_for(lambda: any(Path(self.path("stopped%d" % ranks)).glob("checkpoints/step_*/COMPLETE")))
                process.send_signal(signal.SIGUSR1)
                self.end(process, 75)
                step = max(Path(self.path("stopped%d/checkpoints" % ranks)).glob("step_*/COMPLETE")).parent.name
                steps = int(step.partition("_")[2])
                self.expect(0, run(ranks, "run", self.image, output, "run.steps=%d" % (steps + 4)), "resuming from")


class Installation(EndingsTest):
    """What a machine lacks is said under run.device=cuda, with what to do about it."""

    def machine(self, driver="550.54.15"):
        """The environment of a machine with one GPU and that driver."""
        os.makedirs(self.path("proc/gpus/0000:18:00.0"))
        Path(self.path("proc/version")).write_text(
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  Tue Feb 27 2024\n" % driver)
        os.environ["MULTICARD_NVIDIA_PROC"] = self.path("proc")
        self.addCleanup(os.environ.pop, "MULTICARD_NVIDIA_PROC")

    def refused(self, *texts, ranks=1, **settings):
        result = self.expect(3, run(ranks, "run", self.image, **settings), *texts)
        self.assertNotIn("defect", result[2])
        return result

    def test_a_driver_that_is_too_old(self):
        self.machine()
        self.refused("driver 550.54.15 is too old", "12.4", "needs driver 580", "Update the driver", driver=12040)
        self.expect(0, run(1, "run", self.image, "run.device=auto", driver=12040), "NO GPU IS USED.*550.54.15")

    def test_a_kernel_module_without_the_driver_library(self):
        self.machine()
        self.refused("libcuda.so.1", "550.54.15", "docker run --gpus all", driver=0)

    def test_no_driver(self):
        os.environ["MULTICARD_NVIDIA_PROC"] = self.path("none")
        self.addCleanup(os.environ.pop, "MULTICARD_NVIDIA_PROC")
        self.refused("there is no GPU", "run.device=cpu", driver=0)
        self.expect(0, run(1, "run", self.image, "run.device=auto", driver=0))

    def test_no_cudnn(self):
        self.refused("libcudnn.so.9 cannot be loaded", "scripts/setup.sh --gpu", absent="cudnn")

    def test_no_nccl(self):
        self.refused("libnccl.so.2 cannot be loaded", "scripts/setup.sh --gpu", absent="nccl")

    def test_an_nccl_that_is_too_old(self):
        self.refused(r"2\.19\.3.*older.*2\.28", nccl_version=21903)

    def test_more_ranks_than_gpus(self):
        self.refused("would use one GPU|share", "parallel.share_gpu|share_gpu", ranks=2, devices=1)


if __name__ == "__main__":
    main()
