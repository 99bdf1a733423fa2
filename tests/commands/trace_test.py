#!/usr/bin/env python3
"""multicard-post trace on traces of GPUs (tests/data/traces). Standard library only.

usage: trace_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import csv
import gzip
import io
import json
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from command_test import POST, CommandTest

HOST = '{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1, "dur": 2}'
KERNEL = '{"ph": "X", "cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 2, "dur": 3}'
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
        self.assertRegex(out, r"(?m)^cudaLaunchKernel +0 +api +2,550 +24\.43 ms +8\.143 ms +44\.63 ms +54\.7 %$")
        self.assertRegex(out, r"(?m)^cudaEventDestroy +0 +api +– +– +– +– +–$")
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
        launches = self.csv("shares", trace_of("resnet_ddp_a100_ns"))[2]
        self.assertEqual((launches["per_step_ns"], launches["whole_ns"]), ("8142754.33", "44633816"))
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
        busy, spans = ([rank[name] for rank in written["gpus"]] for name in ("busy_ns", "span_ns"))
        totals = {}
        for kernel in written["kernels"]:
            totals[kernel["name"]] = totals.get(kernel["name"], 0) + kernel["total_ns"]
        title = re.sub(r"\s", " ", re.search("<h1>(.*?)</h1>", page).group(1))  # numbers keep their units
        self.assertIn("Profile of 2 ranks", page)
        self.assertTrue(title.startswith("The GPUs are busy %.1f %% of the time; of the time of kernels, " % (
            100 * sum(busy) / sum(spans))), title)
        self.assertTrue(title.endswith(" takes %.1f %%" % (100 * max(totals.values()) / sum(totals.values()))), title)
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
        file = self.write_trace("cpu.json", 0, "[%s]" % HOST)
        done = subprocess.run([POST, "trace", file], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0)
        self.assertIn("the profiler recorded the host alone", done.stderr)
        self.assertRegex(done.stdout, r"(?m)^aten::add +0 +2 µs")
        for words in ("Shares", "allocated", "phase", "GPU"):
            self.assertNotIn(words, done.stdout)
        row = self.csv("operators", file)[0]
        self.assertEqual([row[name] for name in ("self_ns", "gpu_ns", "gpu_count", "allocated_bytes")],
                         ["2000", "", "", ""])
        self.assertEqual(self.csv("shares", file), [])
        written = json.loads(self.trace(0, file, "--json"))
        for key in ("api_ns", "kernel_ns", "copy_ns", "kernels_without_launch", "steps"):
            self.assertIsNone(written["ranks"][0][key], key)
        self.assertIsNone(written["operators"][0]["allocated_bytes"])

    def test_what_a_trace_records_may_be_zero(self):
        file = self.write_trace("gpu.json", 0, "[%s, %s]" % (HOST, KERNEL))
        row = self.csv("operators", file)[0]
        self.assertEqual((row["gpu_ns"], row["gpu_count"], row["allocated_bytes"]), ("0", "0", ""))
        self.assertRegex(self.trace(0, file), r"(?m)^aten::add +0 +2 µs +0 ns +0 ")
        rank = json.loads(self.trace(0, file, "--json"))["ranks"][0]
        self.assertEqual((rank["api_ns"], rank["kernel_ns"], rank["copy_ns"]), (None, 3000, 0))
        shares = {row["name"]: row["count"] for row in self.csv("shares", file)}
        self.assertEqual((shares["nccl_kernels"], shares["cudaLaunchKernel"]), ("0", ""))

    def test_a_gpu_that_the_trace_does_not_name_is_unknown(self):
        file = self.write_trace("gpu.json", 0, "[%s]" % KERNEL.replace('"pid": 0, ', ""))
        gpus = self.csv("gpus", file)
        self.assertEqual((gpus[0]["device"], gpus[0]["busy_ns"]), ("", "3000"))
        self.assertNotIn("-1", self.trace(0, file))

    def test_files_that_are_no_traces_are_refused(self):
        for content, words in ((b"", "is empty"), (b" \n", "is empty"), (b"null", "is not a trace (it is null)"),
                               (b"\x7fELF\0\1\2", "from byte 0 on (it begins with \\x7f"),
                               ("[]".encode("utf-16"), "it is UTF-16"), (b'{"a": "\0"}', "from byte 7 on"),
                               (b'{"traceEvents": null}', "is not a trace (its traceEvents is not an array)"),
                               (b"[] xx", "from byte 3 on (more text follows"), (b"\x89HDF\r\n\x1a\n", "post profile")):
            Path(self.path("odd")).write_bytes(content)
            self.assertIn(words, self.trace(4, self.path("odd")))
        Path(self.path("odd")).write_bytes(gzip.compress(b'{"a": "\t"}'))
        self.assertIn("from byte 7 of the unpacked text on", self.trace(4, self.path("odd")))
        Path(self.path("odd")).write_bytes(b"\xef\xbb\xbf" + gzip.decompress(gzip.compress(b"[]")))
        self.trace(0, self.path("odd"))
        Path(self.path("odd")).write_bytes(gzip.compress(b"[]") + bytes(1000))
        self.trace(0, self.path("odd"))

    def test_a_trace_without_events_says_so(self):
        done = subprocess.run([POST, "trace", self.write_trace("a.json", 0)], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertIn("a.json: it has no events; the profiler recorded nothing", done.stderr)

    def test_words_that_are_missing_are_named(self):
        self.assertIn("'multicard-post trace' needs TRACE.json\n  multicard-post help trace", self.trace(2))
        text = subprocess.run([POST, "help", "trace"], capture_output=True, text=True).stdout
        self.assertEqual(text.count("shares"), 1)

    def test_what_reads_a_file_that_is_no_results_file_is_named(self):
        Path(self.path("empty.json")).write_bytes(b"")
        traces = "\n  multicard-post trace reads"
        for file, why in ((self.write_trace("a.json", 0), "it is JSON)" + traces),
                          (trace_of("event_sync_tiny"), "it is gzipped)" + traces),
                          (self.path("empty.json"), "it is empty)")):
            for words in (["profile", file], [file]):
                done = subprocess.run([POST, *words], capture_output=True, text=True)
                self.assertEqual(done.returncode, 4, done.stderr)
                self.assertIn("is not a results file (" + why, done.stderr)

    def test_traces_are_of_one_job(self):
        def of(name, info):
            Path(self.path(name)).write_text('{"traceEvents": [], "distributedInfo": {%s}}' % info)
            return self.path(name)

        two, four = of("two.json", '"rank": 0, "world_size": 2'), of("four.json", '"rank": 1, "world_size": 4')
        self.assertIn("two.json is of a job of 2 ranks, and", self.trace(2, two, four))
        self.assertIn("five.json is of rank 5, and", self.trace(2, of("five.json", '"rank": 5'), two))
        for info in ('"rank": "3"', '"rank": 1.5', '"rank": -1', '"rank": 2147483648', '"rank": 2, "world_size": 2'):
            self.assertIn("is damaged (its distributedInfo has the rank", self.trace(4, of("odd.json", info)))

    def test_names_do_not_control_the_terminal(self):
        name = json.dumps("a\x1b[31mred\nline\u009b2J")
        file = self.write_trace("name.json", 0, "[%s]" % HOST.replace('"aten::add"', name))
        out = self.trace(0, file)
        self.assertRegex(out, r"(?m)^a\\x1b\[31mred line\\x9b2J +0 ")
        self.assertEqual(self.csv("operators", file)[0]["name"], json.loads(name))

    def test_options_that_cannot_be_are_refused(self):
        file = trace_of("event_sync_tiny")
        for number in ("0", "-1", "99999999999999999999", "x"):
            self.assertIn("--top", self.trace(2, file, "--top", number))
        for output in (("--csv", "calls"), ("--json",)):
            self.assertIn("-o", self.trace(2, file, *output, "-o", self.path("report")))
        self.assertFalse(os.path.exists(self.path("report")))

    def test_a_report_of_the_other_kind_is_not_mixed_with(self):
        os.mkdir(self.path("report"))
        page = "<!DOCTYPE html>\n<p>Report by multicard-post 0.1.</p>\n"
        Path(self.path("report/profile.html")).write_text(page)
        message = self.trace(2, trace_of("event_sync_tiny"), "-o", self.path("report"))
        self.assertIn("holds a report of multicard-post profile", message)
        self.assertEqual(os.listdir(self.path("report")), ["profile.html"])

    def test_the_page_has_each_heading_once(self):
        self.trace(0, trace_of("event_sync_tiny"), "-o", self.path("report"))
        page = Path(self.path("report/trace.html")).read_text()
        main = page.split("<main>")[1]
        self.assertEqual(main.count(">Operators of PyTorch<"), 1)
        self.assertIn('aria-label="Operators of PyTorch"', main)
        head = main.split('data-table="operators"')[1].split("</thead>")[0]
        self.assertIn(">self<", head)
        for label in (">phase<", ">allocated<"):
            self.assertNotIn(label, head)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
