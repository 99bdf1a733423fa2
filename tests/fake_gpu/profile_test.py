#!/usr/bin/env python3
"""Profile windows on the fake GPU, whose CUPTI feeds the real Kineto: what the tables say is what the device counted.

usage: profile_test.py NAME   runs one test class; see fake_run.py
"""

import collections
import csv
import io
import re
import subprocess
from pathlib import Path

from fake_run import SOURCE, TINY_MODEL, FakeGpuTest, main, run
import time_line
from command_test import POST

FIRST, STEPS = 8, 4  # the same steps are counted: batches of text differ
PROFILE = ("profile.enabled=true", "profile.skip_steps=%d" % FIRST, "profile.steps=%d" % STEPS,
           "run.steps=%d" % (FIRST + STEPS + 2), "run.keep_checkpoints=0")


class Profiles(FakeGpuTest):
    def table(self, name):
        done = subprocess.run([POST, "profile", self.path("profiled/results.h5"), "--csv", name],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def profile(self, ranks, deck, *overrides, **settings):
        code, _, err = run(ranks, "run", deck, "run.output=" + self.path("profiled"), *PROFILE, *overrides, **settings)
        self.assertEqual(code, 0, err)
        return err

    def of_rank(self, name, rank):
        return [row for row in self.table(name) if row["rank"] == str(rank)]

    def check(self, ranks, deck, *overrides):
        counted = self.steady(ranks, deck, *overrides, first=FIRST, more=STEPS)
        self.profile(ranks, deck, *overrides)
        for rank, counts in enumerate(counted):
            self.check_kernels(rank, counts)
            self.check_calls(rank, counts)
            self.check_copies(rank, counts)

    def check_kernels(self, rank, counts):
        expected = collections.Counter()
        for kind in ("kernel", "gemm", "convolution"):
            for name, number in counts.calls.get(kind, {}).items():
                if number:
                    expected[name if kind == "kernel" else kind + " " + name] += number
        collectives = {name: n for name, n in counts.calls.get("nccl", {}).items() if n}
        found = collections.Counter()
        for row in self.of_rank("kernels", rank):
            if "nccl" not in row["name"]:
                found[row["name"]] += int(row["count"])
        self.assertEqual(found, expected)
        self.assertEqual({"nccl" + row["name"]: int(row["count"]) for row in self.of_rank("collectives", rank)},
                         collectives)
        # Each kernel has a launch of its own, found in some phase of the steps.
        phases = sum(int(row["gpu_count"]) for row in self.of_rank("phases", rank))
        copies = sum(int(row["count"]) for row in self.of_rank("copies", rank))
        self.assertEqual(phases, sum(expected.values()) + sum(collectives.values()) + copies)

    def check_calls(self, rank, counts):
        found = {row["name"]: int(row["count"]) for row in self.of_rank("calls", rank)}
        launches = sum(n for name, n in found.items() if name.startswith("cudaLaunchKernel"))
        self.assertEqual(launches, counts.launches() + counts.number("nccl"))
        # Under its public name, although CUDA 13 has another for it.
        self.assertGreater(found["cudaLaunchKernel"], 0)
        self.assertNotIn("INVALID", found)
        for name in ("cudaStreamSynchronize", "cudaMemcpyAsync", "cudaStreamWaitEvent", "cudaEventSynchronize"):
            self.assertEqual(found.get(name, 0), counts.number("call", name), name)
        # CUPTI leaves these out: the program's own count. The fake device also counts those between two steps, where
        # collectives that are over give their events back.
        self.assertGreater(found["cudaEventDestroy"], 0)

    def check_copies(self, rank, counts):
        found = {row["direction"]: row for row in self.of_rank("copies", rank)}
        for direction, words in (("HtoD", ("pinned -> device", "pageable -> device")),
                                 ("DtoH", ("device -> pinned", "device -> pageable")), ("DtoD", ("device -> device",))):
            number, amount = (sum(of(word) for word in words) for of in (counts.copies, counts.bytes_copied))
            self.assertEqual(int(found[direction]["count"]) if direction in found else 0, number, direction)
            self.assertEqual(int(found[direction]["bytes"]) if direction in found else 0, amount, direction)

    def test_images_on_one_gpu(self):
        self.check(1, self.image)
        blocks = {(row["name"], row["pass"]): row for row in self.table("blocks")}
        for name in ("stem", "head", *("blocks.%d" % i for i in range(17))):
            for which in ("forward", "backward"):
                self.assertGreater(int(blocks[name, which]["gpu_count"]), 0, (name, which))

    def test_images_on_two_gpus(self):
        self.check(2, self.image)
        shares = {row["name"]: row for row in self.of_rank("shares", 1)}
        self.assertGreater(float(shares["nccl_kernels"]["share"]), 0)
        self.assertGreater(float(shares["host_to_device_copy"]["share"]), 0)
        # CUPTI leaves it out: the program's own count.
        self.assertGreater(int(shares["cudaEventDestroy"]["count"]), 0)
        self.assertGreater(float(shares["cudaEventDestroy"]["share"]), 0)

    def test_lora(self):
        self.check(2, self.language)

    def test_arrows_of_a_time_line_join_the_ranks_of_a_group(self):
        self.profile(4, self.language, "method={name: full}", "profile.trace=true",
                     "parallel={shard: hybrid, shard_group: 2}")
        header, events = time_line.read(self.path("profiled/trace-step%d.json.gz" % FIRST))
        found = time_line.check_arrows(self, header, events)
        for ranks in ((0, 1), (2, 3), (0, 2), (1, 3)):
            self.assertGreater(found[ranks], 0, found)
        for box in time_line.boxes_of(events):
            self.assertEqual("nccl" in box["name"], "sequence" in box.get("args", {}), box)

    def page_of_study(self, deck, *overrides):
        results = self.path("study")
        code, _, err = run(2, "sweep", SOURCE / "inputs" / deck, "--smoke", "run.output=" + results, "data.test=null",
                           "run.device=cuda", *overrides)
        self.assertEqual(code, 0, err)
        done = subprocess.run([POST, results + "/results.h5"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return Path(results, "report.html").read_text().replace("<wbr>", "")

    def test_the_deck_of_data_sets_makes_its_page(self):
        cases = ", ".join('{name: "set %s", data.train: "%s/text-%s-*.h5", run.micro_batch: %d}'
                          % (name, self.data, name, rows) for name, rows in (("train", 2), ("test", 1)))
        page = self.page_of_study("llm/study/profile.yaml", "sweep.cases=[%s]" % cases, "model.path=%s" % TINY_MODEL)
        shares = page.split('data-table="profile-shares"')[1].split("</table>")[0]
        self.assertEqual(len(re.findall(r"[\d.]+.%</td>", shares)), 2 * 7)
        calls = page.split('data-table="profile-calls"')[1].split("</table>")[0]
        for word in ("set train", "set test", "cudaLaunchKernel"):
            self.assertIn(word, calls)
        self.assertIn('<figure id="calls">', page)

    def test_the_deck_of_strategies_and_sizes_makes_its_page(self):
        page = self.page_of_study("image/study/profile.yaml", "data.train=%s/train*.h5" % self.data,
                                  "parallel.share_gpu=false")
        shares = page.split('data-table="profile-shares"')[1].split("</table>")[0]
        for word in ("cudaLaunchKernel", "nccl_kernels", "ddp, 32 px", "dp, 48 px"):
            self.assertIn(word, shares)
        # Seven of 2 strategies and 2 sizes.
        self.assertEqual(len(re.findall(r"[\d.]+.%</td>", shares)), 4 * 7)
        self.assertIn("cudaLaunchKernel", page.split('data-table="profile-calls"')[1].split("</table>")[0])
        self.assertIn("conv", page.split('data-table="profile-kernels"')[1].split("</table>")[0])
        for figure in ("calls", "median_step"):
            self.assertIn('<figure id="%s">' % figure, page)

    def test_another_profiler_is_named_and_the_run_goes_on(self):
        err = self.profile(1, self.image, profiled=1)
        self.assertIn("nsys or ncu", err)
        self.assertEqual(self.table("kernels"), [])
        self.assertGreater(len(self.table("operators")), 10)


if __name__ == "__main__":
    main()
