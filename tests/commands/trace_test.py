#!/usr/bin/env python3
"""multicard-post trace on traces of GPUs (tests/data/traces). Standard library only.

usage: trace_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from command_test import POST, CommandTest

TRACES = Path(os.environ["MULTICARD_SOURCE"]) / "tests/data/traces"


def trace_of(name):
    return str(TRACES / name / "trace.json.gz")


class Trace(CommandTest):
    def trace(self, code, *arguments):
        done = subprocess.run([POST, "trace", *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr if code else done.stdout

    def csv(self, table, *files):
        return list(csv.DictReader(io.StringIO(self.trace(0, *files, "--csv", table))))

    def write_trace(self, name, rank, events="[]"):
        Path(self.path(name)).write_text('{"distributedInfo": {"rank": %d}, "traceEvents": %s}' % (rank, events))
        return self.path(name)

    def test_the_terminal_has_what_nsight_shows(self):
        out = self.trace(0, trace_of("resnet_ddp_a100_ns"), "--top", "3")
        self.assertRegex(out, r"(?m)^How each GPU spent its time$")
        self.assertRegex(out, r"(?m)^0 +0 +660\.6 ms +157\.5 ms +23\.8 % +503\.1 ms +115\.7 ms +46\.88 ms +7\.317 ms")
        self.assertRegex(out, r"(?m)^cudaLaunchKernel +0 +api +2,550 +24\.43 ms +54\.7 %$")
        self.assertRegex(out, r"(?m)^cudaEventDestroy +0 +api +– +– +–$")
        self.assertRegex(out, r"(?m)^AllReduce +0 +15 +46\.76 ms")
        calls = out.split("Calls of the CUDA runtime and driver\n")[1].split("\n\n")[0]
        self.assertEqual(len(calls.splitlines()), 4)

    def test_tables_are_csv_with_whole_nanoseconds(self):
        rows = self.csv("calls", trace_of("resnet_ddp_a100_ns"))
        self.assertEqual(len(rows), 17)
        self.assertEqual(rows[0]["name"], "cudaLaunchKernel")
        self.assertEqual((rows[0]["count"], rows[0]["total_ns"], rows[0]["max_ns"]), ("2550", "24428263", "75688"))
        gpus = self.csv("gpus", trace_of("resnet_ddp_a100_ns"))
        self.assertEqual((gpus[0]["busy_ns"], gpus[0]["overlap_ns"]), ("157500014", "7317025"))
        destroyed = [row for row in self.csv("shares", trace_of("reco_v100_world2_graph"))
                     if row["name"] == "cudaEventDestroy"]
        self.assertEqual(destroyed[0]["total_ns"], "")

    def test_several_traces_are_ranks(self):
        files = [trace_of("reco_v100_world2_graph"), trace_of("resnet_ddp_a100_ns")]  # ranks 1 and 0 of their jobs
        self.assertEqual([row["rank"] for row in self.csv("gpus", *files)], ["0", "1"])
        self.trace(0, *files, "-o", self.path("report"))
        written = json.loads(Path(self.path("report/trace.json")).read_text())
        self.assertEqual(written["format"], "multicard-trace")
        self.assertEqual([trace["rank"] for trace in written["ranks"]], [0, 1])
        self.assertEqual(written["gpus"][1]["busy_ns"], 717943000)
        page = Path(self.path("report/trace.html")).read_text()
        self.assertIn("<h1>Profile of 2 ranks</h1>", page)
        self.assertIn('data-table="kernels"', page)
        self.assertIn("cudaEventDestroy is not recorded by the profiler", page)
        self.assertEqual(written, json.loads(self.trace(0, *files, "--json")))
        self.trace(0, *files, "-o", self.path("report"))  # replaces its own files

    def test_files_of_others_are_not_replaced(self):
        os.mkdir(self.path("report"))
        Path(self.path("report/calls.csv")).write_text("mine\n")
        message = self.trace(2, trace_of("event_sync_tiny"), "-o", self.path("report"))
        self.assertIn("calls.csv was not written by multicard-post", message)
        self.assertEqual(os.listdir(self.path("report")), ["calls.csv"])

    def test_what_is_wrong_with_a_file_is_said(self):
        whole = gzip.open(trace_of("event_sync_tiny")).read()
        Path(self.path("cut.json")).write_bytes(whole[:5000])
        self.assertIn("cut.json is not JSON from byte 5000 on", self.trace(4, self.path("cut.json")))
        Path(self.path("cut.json.gz")).write_bytes(Path(trace_of("event_sync_tiny")).read_bytes()[:2000])
        self.assertIn("cut.json.gz cannot be decompressed", self.trace(4, self.path("cut.json.gz")))
        self.assertIn("none.json cannot be read", self.trace(4, self.path("none.json")))
        self.assertIn("are both of rank 3", self.trace(2, self.write_trace("a.json", 3), self.write_trace("b.json", 3)))
        self.assertIn("--csv", self.trace(2, trace_of("event_sync_tiny"), "--csv", "colls"))

    def test_a_trace_without_gpu_says_so(self):
        events = '[{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 2}]'
        done = subprocess.run([POST, "trace", self.write_trace("cpu.json", 0, events)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn("the profiler recorded the host alone", done.stderr)
        self.assertRegex(done.stdout, r"(?m)^aten::add +0 +2 µs")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
