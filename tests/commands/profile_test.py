#!/usr/bin/env python3
"""Profile windows of runs on CPU ranks, from the deck to multicard-post profile. Standard library only.

usage: profile_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import csv
import io
import json
import os
import statistics
import subprocess
import sys
import unittest
from pathlib import Path

from command_test import BIN, MULTICARD, POST, CommandTest, run
from tuning_case import MODEL, SOURCE, TuningCase

PROFILE = ("profile.enabled=true", "profile.skip_steps=1", "profile.steps=2", "evaluate.every_epochs=0")


class Profile(CommandTest):
    def profile(self, code, *arguments):
        done = subprocess.run([POST, "profile", *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr if code else done.stdout

    def table(self, name, results=None, *arguments):
        text = self.profile(0, results or self.path("out/results.h5"), "--csv", name, *arguments)
        return list(csv.DictReader(io.StringIO(text)))

    def test_every_rank_has_its_tables(self):
        self.prepare()
        self.expect(0, run(2, "run", self.deck, *PROFILE))
        phases = self.table("phases")
        for rank in ("0", "1"):
            of_rank = {row["name"]: row for row in phases if row["rank"] == rank}
            self.assertEqual(int(of_rank["forward"]["count"]), 2)
            self.assertEqual(int(of_rank["backward"]["count"]), 2)
            for row in of_rank.values():
                self.assertLessEqual(int(row["self_ns"]), 1.02 * int(row["total_ns"]), row)
        # 52 convolutions and a classifier in each step.
        blocks = {(row["rank"], row["name"], row["pass"]): row for row in self.table("blocks")}
        for rank in ("0", "1"):
            names = {name for of, name, _ in blocks if of == rank}
            self.assertEqual(names, {"stem", "head", *("blocks.%d" % i for i in range(17))})
            for name in names:
                self.assertEqual(int(blocks[rank, name, "forward"]["count"]), 2, name)
                self.assertGreater(int(blocks[rank, name, "backward"]["self_ns"]), 0, name)
        exchanges = {row["rank"]: row for row in self.table("exchanges") if row["name"] == "all_reduce"}
        self.assertEqual(exchanges["0"]["calls"], exchanges["1"]["calls"])
        self.assertGreaterEqual(int(exchanges["0"]["calls"]), 4)
        self.assertGreater(int(self.table("threads")[0]["running_ns"]), 0)
        for row in self.table("io"):
            self.assertEqual(row["name"].split("_")[0], "read", row)
            self.assertLessEqual(int(row["calls"]), 4, "of rows for two steps and two batches ahead")
            self.assertGreater(int(row["bytes"]), 0)

    def test_the_phases_explain_a_step(self):
        """All but 2 % of one that takes about 0.1 s, with which what is left over is 0.5 %."""
        self.prepare()
        self.expect(0, run(2, "run", self.deck, "run.epochs=null", "run.steps=8", "run.global_batch=64",
                           "model.width=1.0", "data.image_size=64", "evaluate.every_epochs=0"))
        path = self.path("out/results.h5")
        step, other = (statistics.median(map(float, self.dataset(path, "/runs/main/steps/" + name)))
                       for name in ("step", "other"))
        self.assertLessEqual(other, 0.02 * step)

    def test_the_terminal_page_and_json(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck, *PROFILE))
        out = self.profile(0, self.path("out/results.h5"), "--top", "3", "-o", self.path("page"))
        self.assertTrue(out.startswith("Recorded: 2 steps of rank 0.\n"), out)
        self.assertIn("has no profile of rank 1", self.profile(2, self.path("out/results.h5"), "--rank", "1"))
        self.assertRegex(out, r"(?m)^Operators by phase of the steps$")
        self.assertRegex(out, r"(?m)^forward +0 +2 ")
        self.assertNotIn("Shares of calls", out)
        page = Path(self.path("page/profile.html")).read_text()
        self.assertIn("the run used CPUs", page)
        self.assertIn("rank 0: %s, 2 steps" % self.path("out/results.h5"), page)
        written = json.loads(Path(self.path("page/profile.json")).read_text())
        self.assertEqual(written["format"], "multicard-profile")
        self.assertEqual(written["ranks"][0]["steps"], 2)
        self.assertGreater(written["ranks"][0]["window_ns"], 0)
        self.assertIn("blocks.16", [row["name"] for row in written["blocks"]])
        self.profile(0, self.path("out/results.h5"), "-o", self.path("page"))  # replaces its own files
        for name in ("gpu_ns", "gpu_count", "allocated_bytes"):
            self.assertIsNone(written["operators"][0][name], name)

    def test_a_resumed_run_has_all_its_windows(self):
        self.prepare()
        windows = (*PROFILE, "profile.repeat=2")
        self.expect(0, run(1, "run", self.deck, *windows, "run.steps=4", "run.epochs=null"))
        self.assertEqual(self.steps(), 2)
        self.expect(0, run(1, "run", self.deck, *windows, "run.steps=8", "run.epochs=null"))
        self.assertEqual(self.steps(), 4)
        forward = [row for row in self.table("phases") if row["name"] == "forward"]
        self.assertEqual(int(forward[0]["count"]), 4)

    def test_a_checkpoint_has_what_was_recorded_before_it(self):
        self.prepare()
        windows = ("profile.enabled=true", "profile.skip_steps=1", "profile.steps=5", "run.epochs=null",
                   "evaluate.every_steps=3", "evaluate.every_epochs=0", "run.checkpoint_every=4")
        # Within the window, and at its end.
        for last in (4, 6):
            self.expect(0, run(1, "run", self.deck, *windows, "run.steps=%d" % last, "run.resume=never"))
            self.assertEqual(self.steps(), last - 1)
            _, _, err = self.expect(0, run(1, "run", self.deck, *windows, "run.steps=10"))
            self.assertNotIn("no profile window", err)
            self.assertEqual(self.steps(), 5)
            forward = [row for row in self.table("phases") if row["name"] == "forward"]
            self.assertEqual(int(forward[0]["count"]), 5)
            # The evaluations after steps 3, 6 and 9 are in none of its parts.
            self.assertEqual([row for row in self.table("operators") if row["phase"] == ""], [])
            self.assertNotIn("broadcast", [row["name"] for row in self.table("exchanges")])

    def test_a_run_that_fails_keeps_its_window(self):
        self.prepare()
        self.expect(6, run(1, "run", self.deck, *PROFILE, "profile.steps=50", "optimizer.learning_rate=1e30"))
        self.assertGreater(self.steps(), 0)

    def steps(self):
        return json.loads(self.profile(0, self.path("out/results.h5"), "--json"))["ranks"][0]["steps"]

    def test_the_results_are_those_of_a_run_without(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck, "run.deterministic=true"))
        plain = self.dataset(self.path("out/results.h5"), "/runs/main/metrics/train_loss")
        self.expect(0, run(1, "run", self.deck, "run.deterministic=true", *PROFILE, "profile.memory=true",
                           "profile.shapes=true", "run.output=" + self.path("other")))
        self.assertEqual(self.dataset(self.path("other/results.h5"), "/runs/main/metrics/train_loss"), plain)
        operators = self.table("operators", self.path("other/results.h5"))
        self.assertTrue(any(int(row["allocated_bytes"]) > 0 for row in operators))
        self.assertTrue(any("[" in row["name"] for row in operators))

    def test_what_is_missing_is_said(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck, "run.steps=2", "run.epochs=null"))
        results = self.path("out/results.h5")
        self.assertIn("has no profile", self.profile(2, results))
        self.assertIn("profile.enabled=true", self.profile(2, results, "--run", "main"))
        self.assertIn("has no run other", self.profile(2, results, "--run", "other"))
        self.expect(0, run(1, "run", self.deck, *PROFILE, "run.steps=2", "run.epochs=null", "run.resume=never",
                           "profile.skip_steps=10"), "no profile window lies in steps 0 to 1 .*after step 10")
        self.expect(0, run(1, "run", self.deck, *PROFILE, "run.steps=3", "run.epochs=null", "run.resume=never",
                           "profile.steps=9"), "3 steps are too few for 1 profile window of 9 steps each after 1")

    def test_runs_of_a_sweep_are_told_apart(self):
        self.prepare()
        Path(self.path("sweep.yaml")).write_text(
            "base: deck.yaml\nrun: {output: %s}\nprofile: {enabled: true, steps: 2}\n"
            "limits: {steps: 4, skip_steps: 1}\nsweep: {precision: [fp32, fp64]}\n" % self.path("swept"))
        self.expect(0, run(1, "sweep", self.path("sweep.yaml")))
        results = self.path("swept/results.h5")
        self.assertIn("Name one with --run: 0000, 0001", self.profile(2, results))
        for name in ("0000", "0001"):
            rows = self.table("phases", results, "--run", name)
            self.assertEqual([row["count"] for row in rows if row["name"] == "forward"], ["2"])
        done = subprocess.run([POST, results], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = Path(self.path("swept/report.html")).read_text()
        self.assertIn("The runs used CPUs", page)
        operators = page.split('data-table="profile-operators"')[1].split("</table>")[0]
        for words in ("fp32", "fp64", "multicard::", "forward"):
            self.assertIn(words, operators)
        self.assertNotIn("profile-shares", page)


class Tools(CommandTest):
    def run_with_tool(self, *settings):
        """Of 2 ranks. Counted calls of MPI_Allreduce, MPI_Allgather and MPI_Isend by rank."""
        self.prepare()
        tool, log = str(BIN.parent / "tests/libmpi_tool.so"), self.path("mpi")
        variables = [word for word in settings if word.startswith("MPI_TOOL")]
        overrides = [word for word in settings if word not in variables]
        checks = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        done = subprocess.run(["mpirun", "-n", "2", "env", "LD_PRELOAD=" + tool, "MPI_TOOL_LOG=" + log, *variables,
                               MULTICARD, "run", self.deck, *overrides], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "ASAN_OPTIONS": checks})
        self.assertEqual(done.returncode, 0, done.stderr)
        return [tuple(map(int, Path("%s.%d" % (log, rank)).read_text().split())) for rank in (0, 1)]

    def test_a_tool_that_wraps_mpi_sees_the_calls_and_writes_at_the_end(self):
        for all_reduces, gathers, _ in self.run_with_tool():
            self.assertGreater(all_reduces, 0)
            self.assertGreater(gathers, 0)

    def test_calls_of_mpi_have_a_table_where_ranks_are_on_several_nodes(self):
        counted = self.run_with_tool("MPI_TOOL_NODES=1", *PROFILE)
        tables = {name: list(csv.DictReader(io.StringIO(subprocess.run(
            [POST, "profile", self.path("out/results.h5"), "--csv", name], capture_output=True, text=True).stdout)))
            for name in ("mpi", "exchanges")}
        for rank, (all_reduces, _, sends) in enumerate(counted):
            of_rank = {name: {row["name"]: row for row in rows if row["rank"] == str(rank)}
                       for name, rows in tables.items()}
            # Gradients are exchanged by messages, small sums by MPI's own all-reduce. One of 2 ranks sends as many
            # bytes as the gradients have.
            sent, summed = of_rank["mpi"]["MPI_Isend"], of_rank["mpi"]["MPI_Allreduce"]
            payload = int(of_rank["exchanges"]["all_reduce"]["payload_bytes"])
            self.assertGreaterEqual(int(sent["bytes"]) + int(summed["bytes"]), payload)
            self.assertLess(int(sent["bytes"]) + int(summed["bytes"]), 1.01 * payload)
            self.assertGreater(int(sent["bytes"]), int(summed["bytes"]))
            for calls, in_all in ((sent, sends), (summed, all_reduces)):
                self.assertGreater(int(calls["calls"]), 0)
                self.assertLess(int(calls["calls"]), in_all, "of the window alone")
                self.assertGreater(int(calls["total_ns"]), 0)


class ProfileLanguage(TuningCase):
    def page_of_study(self, deck, *overrides):
        results = self.path("study")
        self.expect(0, run(2, "sweep", SOURCE / "inputs" / deck, "--smoke", "run.output=" + results, "data.test=null",
                           "run.resume=never", *overrides))
        done = subprocess.run([POST, results + "/results.h5"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        page = Path(results, "report.html").read_text()
        self.assertIn("The runs used CPUs", page)
        self.assertNotIn("profile-shares", page)
        self.assertIn('<figure id="median_step">', page)
        return page.split('data-table="profile-operators"')[1].split("</table>")[0]

    def test_the_decks_of_the_study_make_their_pages(self):
        cases = ", ".join('{name: "set %s", data.train: "%s", run.micro_batch: %d}'
                          % (name, self.path("text-%s-*.h5" % name), rows)
                          for name, rows in (("train", 2), ("test", 1)))
        operators = self.page_of_study("llm/study/profile.yaml", "sweep.cases=[%s]" % cases,
                                       "model.path=%s" % MODEL)
        for words in ("set train", "set test", "aten::", "backward"):
            self.assertIn(words, operators)
        self.prepare()
        operators = self.page_of_study("image/study/profile.yaml", "data.train=" + self.path("train*.h5"))
        for words in ("ddp, 32 px", "dp, 48 px", "multicard::", "forward"):
            self.assertIn(words, operators)

    def test_lora_has_its_layers_with_recomputed_ones(self):
        self.expect(0, run(1, "run", self.deck, *PROFILE, "run.steps=3", "model.activation_checkpointing=true"))
        done = subprocess.run([POST, "profile", self.path("out/results.h5"), "--json"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        blocks = {(row["name"], row["pass"]): row for row in json.loads(done.stdout)["blocks"]}
        layers = sorted({name for name, _ in blocks if name.startswith("layers.")})
        self.assertEqual(layers, ["layers.%d" % i for i in range(len(layers))])
        for name in layers:
            self.assertEqual(blocks[name, "forward"]["count"], 2)
            self.assertEqual(blocks[name, "recomputed"]["count"], 2)
            self.assertGreater(blocks[name, "backward"]["self_ns"], 0)
        self.assertGreater(blocks["head", "forward"]["total_ns"], 0)
        self.assertGreater(blocks["head", "backward"]["self_ns"], 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
