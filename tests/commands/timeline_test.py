#!/usr/bin/env python3
"""Time lines of profile windows: the file that profile.trace=true writes, by its text and by Perfetto's own reader.

usage: timeline_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import collections
import csv
import gzip
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import unittest
from pathlib import Path

import time_line
from command_test import POST, CommandTest, run
from share_test import ShareTest
from tuning_case import TuningCase, deeper_model

TRACE = ("profile.enabled=true", "profile.trace=true", "profile.skip_steps=1", "profile.steps=2",
         "evaluate.every_epochs=0")
ENGINE = Path(os.environ.get("MULTICARD_CACHE") or Path.home() / ".cache/multicard") / "trace-processor"
QUERY = Path(__file__).parent.parent / "peers/trace_query.js"


class Timeline(CommandTest):
    def setUp(self):
        super().setUp()
        self.file = self.path("out/trace-step1.json.gz")

    def traced(self, ranks=2, *overrides):
        self.prepare()
        return self.expect(0, run(ranks, "run", self.deck, *TRACE, *overrides))

    def profile(self, table):
        done = subprocess.run([POST, "profile", self.path("out/results.h5"), "--csv", table], capture_output=True,
                              text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def calls(self, rank):
        return sum(int(row["calls"]) for row in self.profile("exchanges") if row["rank"] == str(rank))

    def query(self, *queries):
        if not (ENGINE / ".multicard-complete").exists() or not shutil.which("node"):
            self.skipTest("Perfetto's trace processor or Node is not installed (scripts/setup_peers.sh --traces)")
        done = subprocess.run(["node", QUERY, ENGINE, self.file, *queries], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_has_the_steps_phases_operators_and_collectives_of_every_rank(self):
        _, _, err = self.traced()
        self.assertRegex(err, r"time line of \d+ events: .*/trace-step1\.json\.gz \(\d+\.\d MB; clocks .* to \S+ us\)")
        header, events = time_line.read(self.file)
        self.assertEqual((header["ranks"], header["first_step"], header["steps"]), (2, 1, 2))
        self.assertLess(header["clock_error_us"], 1000)
        boxes = time_line.boxes_of(events)
        operators = self.profile("operators")
        for rank, pid in ((0, 10), (1, 20)):
            of_rank = [box for box in boxes if box["pid"] == pid]
            steps = [box for box in of_rank if box["cat"] == "step"]
            self.assertEqual([step["name"] for step in steps], ["step 1", "step 2"])
            for phase in (box for box in of_rank if box["cat"] == "phase"):
                self.assertTrue(any(self.holds(step, phase) for step in steps), phase)
            count = sum(int(row["count"]) for row in operators if row["rank"] == str(rank))
            self.assertEqual(sum(box["cat"] == "cpu_op" for box in of_rank), count)
            collectives = [box for box in of_rank if box["cat"] == "collective"]
            self.assertEqual(len(collectives), self.calls(rank))
            self.assertTrue(all(box["args"]["bytes"] > 0 for box in collectives))
            self.assertTrue(any("waited_us" in box["args"] for box in collectives))
        counters = {(event["pid"], event["name"]) for event in events if event["ph"] == "C"}
        for name in ("host tensors", "cores", "collectives"):
            self.assertIn((10, name), counters)
            self.assertIn((20, name), counters)
        self.check_nesting(boxes)
        self.assertEqual(set(time_line.check_arrows(self, header, events)), {(0, 1)})
        done = subprocess.run([POST, "trace", self.file], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("multicard-post profile makes the tables", done.stderr)
        done = subprocess.run([POST, self.file], capture_output=True, text=True)
        self.assertEqual(done.returncode, 4)
        self.assertIn("it is a time line", done.stderr)
        Path(self.path("cut.json.gz")).write_bytes(Path(self.file).read_bytes()[:100])
        done = subprocess.run([POST, "trace", self.path("cut.json.gz")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("is a time line of a multicard run", done.stderr)

    @staticmethod
    def holds(outer, inner):
        # Times have three decimals, which sums of binary fractions miss.
        return outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 1e-4

    def check_nesting(self, boxes):
        """Perfetto drops a box that overlaps another of its track in part."""
        tracks = collections.defaultdict(list)
        for box in boxes:
            tracks[box["pid"], box["tid"]].append(box)
        for track in tracks.values():
            track.sort(key=lambda box: (box["ts"], -box["dur"]))
            open_boxes = []
            for box in track:
                while open_boxes and open_boxes[-1]["ts"] + open_boxes[-1]["dur"] <= box["ts"] + 1e-4:
                    open_boxes.pop()
                self.assertTrue(not open_boxes or self.holds(open_boxes[-1], box), (open_boxes[-1:], box))
                open_boxes.append(box)

    def test_is_read_by_perfetto_without_an_error(self):
        self.traced()
        errors, slices, flows, collectives, counters, processes = self.query(
            "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
            "select category, count(*) as count from slice group by category",
            "select count(*) as count, sum(o.ts > i.ts) as backward, sum(o.name != i.name) as others from flow "
            "join slice o on slice_out = o.id join slice i on slice_in = i.id",
            "select slice.name, extract_arg(arg_set_id, 'args.sequence') as sequence, count(distinct upid) as ranks "
            "from slice join thread_track on track_id = thread_track.id join thread using (utid) "
            "where category = 'collective' group by 1, 2",
            "select name, count(distinct upid) as ranks, min(value) as least from counter "
            "join process_counter_track t on track_id = t.id group by name",
            "select name from process where name like 'rank%' order by name")
        self.assertEqual(errors, [])
        _, events = time_line.read(self.file)
        written = collections.Counter(event["cat"] for event in events if event["ph"] == "X")
        self.assertEqual({row["category"]: row["count"] for row in slices if row["category"] != "decision"},
                         dict(written))
        num_collectives = self.calls(0)
        self.assertEqual(flows, [{"count": num_collectives, "backward": 0, "others": 0}])
        self.assertEqual(len(collectives), num_collectives)
        self.assertEqual({row["ranks"] for row in collectives}, {2})
        self.assertEqual({row["name"] for row in counters},
                         {"cores busy", "host tensors bytes", "collectives bytes/s"})
        self.assertEqual({row["ranks"] for row in counters}, {2})
        self.assertTrue(all(row["least"] >= 0 for row in counters), counters)
        self.assertEqual([row["name"].split(" (")[0] for row in processes], ["rank 0", "rank 1"])

    def test_each_window_has_a_file_and_a_new_run_removes_them(self):
        self.prepare()
        windows = ("profile.repeat=2", "run.epochs=null", "run.steps=7", "profile.steps=1")
        self.expect(0, run(1, "run", self.deck, *TRACE, *windows))
        names = sorted(path.name for path in Path(self.path("out")).glob("*trace*"))
        self.assertEqual(names, ["trace-step1.json.gz", "trace-step3.json.gz"])
        self.expect(0, run(1, "run", self.deck, *TRACE, *windows, "profile.skip_steps=0", "run.resume=never"))
        names = sorted(path.name for path in Path(self.path("out")).glob("*trace*"))
        self.assertEqual(names, ["trace-step0.json.gz", "trace-step1.json.gz"], "windows that follow each other")
        Path(self.path("out/trace-step9.json.gz")).write_bytes(gzip.compress(b"[]"))
        ended = subprocess.Popen(["true"])
        ended.wait()
        unfinished = ".trace-step7.json.gz.%s-%d-0.part" % (socket.gethostname(), ended.pid)
        Path(self.path("out"), unfinished).write_bytes(bytes(64))
        self.expect(0, run(1, "run", self.deck, "run.epochs=null", "run.steps=2", "run.resume=never"))
        names = sorted(path.name for path in Path(self.path("out")).glob("*trace*"))
        self.assertEqual(names, ["trace-step9.json.gz"])

    def test_a_long_window_has_parts_that_add_up(self):
        self.traced(1, "run.epochs=null", "run.steps=30", "run.checkpoint_every=0", "profile.steps=28")
        parts = sorted(int(path.name[len("trace-step"):-len(".json.gz")])
                       for path in Path(self.path("out")).glob("trace-step*"))
        self.assertEqual(parts[:2], [1, 21])
        forward = [row for row in self.profile("phases") if row["name"] == "forward"]
        self.assertEqual(int(forward[0]["count"]), 28)

    def test_never_replaces_another_file_and_never_ends_the_run(self):
        self.prepare()
        Path(self.path("out")).mkdir()
        Path(self.file).write_bytes(gzip.compress(b"mine"))
        self.expect(0, run(2, "run", self.deck, *TRACE),
                    r"time line is not written: .*was not written by multicard.*The run continues")
        self.assertEqual(gzip.decompress(Path(self.file).read_bytes()), b"mine")

    def test_needs_a_window(self):
        self.prepare()
        self.expect(2, run(1, "run", self.deck, "profile.trace=true"), "profile.enabled")


class ShardedTimeline(TuningCase):
    def write_deck(self):
        self.model = self.path("deep")
        deeper_model(self.model, 5)
        super().write_deck()

    def collectives(self, ranks, *overrides):
        """How many collectives of 2 steps join which ranks."""
        self.expect(0, run(ranks, "run", self.deck, *TRACE, "run.steps=4", "run.checkpoint_every=0",
                           "evaluate.every_steps=0", "method={name: full}", *overrides))
        return time_line.check_arrows(self, *time_line.read(self.path("out/trace-step1.json.gz")))

    def test_split_weights_join_all_ranks(self):
        self.assertEqual(set(self.collectives(2, "parallel.shard=full")), {(0, 1)})

    def test_groups_and_copies_join_their_own_ranks(self):
        found = self.collectives(4, "parallel={shard: hybrid, shard_group: 2}")
        self.assertEqual(set(found), {(0, 1, 2, 3), (0, 1), (2, 3), (0, 2), (1, 3)})
        self.assertEqual(found[0, 1], found[2, 3])
        self.assertEqual(found[0, 2], found[1, 3])


class SharedTimeline(ShareTest):
    def test_marks_the_decisions_of_the_scheduler(self):
        profile = "profile.enabled: true, profile.trace: true, profile.skip_steps: 0, profile.steps: 1000"
        deck = self.share(["name: short, steps: 10", "name: long, steps: 400, overrides: {run.seed: 4, %s, "
                           "evaluate.every_epochs: 0}" % profile], policy="{name: fixed, ranks: {short: 1, long: 2}}")
        _, _, err = self.expect(0, run(2, "share", deck))
        self.assertIn("long: 1 -> 2 ranks", err)
        lines = []
        for path in Path(self.path("shared/tasks/long")).glob("trace-*.json.gz"):
            header, events = time_line.read(path)
            decided = [event["args"]["detail"] for event in events if event["ph"] == "i"]
            lines.append((header["first_step"], header["ranks"], decided))
        lines.sort()
        # The last part of the window on one rank has the decision.
        first_on_two = [ranks for _, ranks, _ in lines].index(2)
        self.assertIn("long: 1 -> 2 ranks", lines[first_on_two - 1][2], lines)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
