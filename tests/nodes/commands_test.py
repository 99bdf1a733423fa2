#!/usr/bin/env python3
"""The commands on two nodes: what they write is what they write on one.

usage: commands_test.py NAME   runs one test class
"""

import json
import re
import shutil
from pathlib import Path

from nodes_case import NodesTest, main, run


class Commands(NodesTest):
    def setUp(self):
        super().setUp()
        self.prepare(train=96, test=24)

    def on_both(self, *words, output=None):
        """Exit code 0 on two nodes with a rank each and on one with 2; returns the outputs."""
        outputs = []
        for where in ("two", "one"):
            more = ("run.output=" + self.path(where),) if output else ()
            done = self.nodes.run("1,1", *words, *more) if where == "two" else run(2, *words, *more)
            self.assertEqual(done[0], 0, done[2])
            outputs.append(done)
        return outputs

    def test_a_sweep_trains_its_variants(self):
        sweep = self.path("sweep.yaml")
        Path(sweep).write_text("base: deck.yaml\nsweep: {precision: [fp32, fp64]}\nrun: {output: out}\n")
        self.on_both("sweep", sweep, "run.steps=3", "run.epochs=null", output=True)
        for name in ("0000", "0001"):
            losses = [self.dataset(self.path(where + "/results.h5"), "/runs/%s/metrics/train_loss" % name)
                      for where in ("two", "one")]
            self.assertEqual(*losses)

    def test_a_run_moves_between_one_node_and_two(self):
        whole = self.train(2, "whole", "run.epochs=2")
        for first, second in (("1,1", 2), (2, "1,1")):
            shutil.rmtree(self.path("moved"), True)
            self.train(first, "moved")
            self.assertEqual(self.train(second, "moved", "run.epochs=2"), whole)

    def test_eval_scores_as_on_one_node(self):
        self.train("1,1", "out")
        scores = [json.loads(out) for _, out, _ in self.on_both("eval", self.deck, "--json")]
        self.assertEqual(scores[0]["loss"], scores[1]["loss"])
        self.assertEqual(scores[0]["accuracy"], scores[1]["accuracy"])

    def test_shards_are_the_same(self):
        words = ("prepare", "images", "--format", "synthetic", "--size", "32", "--classes", "4", "--limit", "50",
                 "--shards", "2", "-o")
        self.assertEqual(self.nodes.run("1,1", *words, self.path("two"))[0], 0)
        self.assertEqual(run(2, *words, self.path("one"))[0], 0)
        for number in (0, 1):
            files = [Path(self.path("%s-%05d-of-00002.h5" % (where, number))).read_bytes() for where in ("two", "one")]
            self.assertEqual(*files)

    def test_info_measures_each_level_of_links(self):
        self.nodes.do("limit", "200mbit")
        code, out, err = self.nodes.run("1,2", "info", "--json")
        self.assertEqual(code, 0, err)
        info = json.loads(out)
        self.assertEqual([rank["host"] for rank in info["ranks"]],
                         [self.nodes.hosts[0], self.nodes.hosts[1], self.nodes.hosts[1]])
        for level in info["links"].values():
            self.assertEqual(level["ranks"], 2)
            for time in (level["latency"], level["bandwidth"]):
                self.assertLessEqual(time["low_s"], time["median_s"])
                self.assertGreaterEqual(time["high_s"], time["median_s"])
        # 200 Mbit/s are 0.025 GB/s.
        self.assertLess(info["links"]["between_nodes"]["bus_gb_per_s"], 0.026)
        self.assertGreater(info["links"]["within_node"]["bus_gb_per_s"], 0.026)

    def test_the_self_test_passes_and_reads_files_of_both(self):
        code, out, err = self.nodes.run("1,1", "info", "--selftest", cwd=self.scratch)
        self.assertEqual(code, 0, err)
        self.assertIn("sums correct", out)
        self.assertRegex(out, r"links\n  between nodes +2 ranks: all-reduce of .* us .* GB/s")

    def test_names_that_resolve_to_loopback_do_no_harm(self):
        for host, other, address in zip(self.nodes.hosts, self.nodes.hosts[::-1], (2, 1)):
            names = Path("/etc/netns", host, "hosts")
            self.addCleanup(names.write_text, names.read_text())
            names.write_text("127.0.0.1 localhost\n127.0.1.1 %s\n10.77.0.%d %s\n" % (host, address, other))
        code, out, err = self.nodes.run("1,1", "info")
        self.assertEqual(code, 0, err)
        self.assertIn("ranks (2 on 2 nodes)", out)

    def test_a_network_that_does_not_join_the_nodes_is_named(self):
        for network, seconds in (("lo", 4), ("missing0", 60)):
            code, _, err = self.nodes.run("1,1", "info", network=network,
                                          environment={"MULTICARD_TIMEOUT_S": str(seconds)})
            self.assertEqual(code, 5, err)
            self.assertRegex(err, r"(?s)ranks (have not reached|cannot reach) each other.*--mca btl_tcp_if_include")

    def test_a_share_trains_its_tasks(self):
        share = self.path("share.yaml")
        Path(share).write_text("tasks:\n  - {deck: deck.yaml, name: a}\n  - {deck: deck.yaml, name: b}\n"
                               "run: {output: %s}\n" % self.path("shared"))
        code, _, err = self.nodes.run("1,1", "share", share)
        self.assertEqual(code, 0, err)
        for task in "ab":
            status = self.attribute(self.path("shared/results.h5"), "/runs/%s/status" % task)
            self.assertEqual(re.search(r'\(0\): "(\w+)', status).group(1), "complete")


if __name__ == "__main__":
    main()
