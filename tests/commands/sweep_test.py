#!/usr/bin/env python3
"""multicard sweep as a person runs it: the matrix, what fails, what is killed and resumes. Standard library only.

usage: sweep_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from command_test import BIN, POST, CommandTest, launch, ranks_of, run, wait_for

SOURCE = Path(__file__).resolve().parents[2]


class SweepTest(CommandTest):
    def sweep(self, text):
        deck = self.path("sweep.yaml")
        Path(deck).write_text("base: deck.yaml\nrun: {output: %s}\nlimits: {steps: 6, skip_steps: 1}\n%s" %
                              (self.path("sweep"), text))
        return deck


class Sweep(SweepTest):
    def test_ranks_and_keys_make_one_file(self):
        self.prepare()
        deck = self.sweep("sweep: {ranks: [1, 2], run.global_batch: [8, 16]}")
        self.expect(0, run(2, "sweep", deck), r"\[4/4\]")
        runs = self.runs(self.path("sweep/results.h5"))
        self.assertEqual(sorted((int(r["ranks"]), int(r["global_batch"])) for r in runs),
                         [(1, 8), (1, 16), (2, 8), (2, 16)])
        self.assertFalse(os.path.exists(self.path("sweep/partial")))
        self.expect(0, run(2, "sweep", deck), "finished")

    def test_a_quick_sweep_applies_its_section_and_is_marked(self):
        self.prepare()
        deck = self.sweep("sweep: {ranks: all, data.image_size: [32, 64]}\n"
                          "quick: {sweep: {data.image_size: [32], ranks: [1, 2, 4]}, repeat: 2, limits: {steps: 3}}")
        self.expect(0, run(2, "sweep", deck, "--quick", "limits.skip_steps=2"), "quick sweep",
                    r"sweep\.ranks: 4 is left out", r"3 runs left, about ", "4 of 4 runs complete")
        results = self.path("sweep/results.h5")
        runs = self.runs(results)
        self.assertEqual(sorted(int(r["ranks"]) for r in runs), [1, 1, 2, 2])
        self.assertEqual(len(self.dataset(results, "/runs/0000/steps/step")), 3)
        self.assertRegex(self.attribute(results, "/runs/0000/quick"), r"\(0\): 1\b")
        self.assertIn("image_size", self.text(results, "/runs/0000/sweep/deck"))
        self.expect(0, run(2, "sweep", deck, "--quick", "limits.skip_steps=2"), "holds this sweep, finished")
        self.expect(2, run(2, "sweep", deck), "holds other results")

    def test_a_smoke_sweep_has_few_variants_and_is_marked(self):
        self.prepare()
        deck = self.sweep("sweep: {ranks: all, data.image_size: [32, 48, 64], run.epochs: [1, 2]}\n"
                          "quick: {model: {width: 0.1}}\nsmoke: {repeat: 1}\n")
        self.expect(0, run(2, "sweep", deck, "--smoke"), "smoke sweep", "4 of 4 runs complete")
        results = self.path("sweep_smoke/results.h5")
        runs = self.runs(results)
        self.assertEqual(sorted(r["ranks"] for r in runs), ["1", "1", "2", "2"])
        self.assertEqual({r["quick"] for r in runs}, {"1"})
        self.assertEqual(len(self.dataset(results, "/runs/0000/steps/step")), 4)
        self.assertRegex(self.attribute(results, "/runs/0000/smoke"), r"\(0\): 1\b")
        self.assertIn('"48"', self.attribute(results, "/runs/0001/data.image_size"))
        done = subprocess.run([POST, results], capture_output=True, text=True)
        self.assertIn("These are quick runs", done.stdout + done.stderr)
        self.expect(0, run(2, "sweep", deck, "--smoke", "sweep.ranks=[2]", "limits.steps=5"), "2 of 2 runs complete")
        self.assertEqual(len(self.dataset(results, "/runs/0000/metrics/train_loss")), 5)
        self.expect(2, run(1, "sweep", deck, "--smoke", "--quick"), "excludes")

    def test_a_quick_sweep_is_no_full_one_even_if_nothing_differs(self):
        self.prepare()
        deck = self.sweep("quick: {repeat: 1}")
        self.expect(0, run(1, "sweep", deck))
        self.expect(2, run(1, "sweep", deck, "--quick"), "holds other results")

    def test_a_quick_sweep_needs_its_section(self):
        self.expect(2, run(1, "sweep", self.sweep("repeat: 2"), "--quick"), "quick: is missing")
        self.expect(2, run(1, "run", self.deck, "--quick"))

    def test_another_number_of_ranks_is_another_sweep(self):
        self.prepare()
        deck = self.sweep("sweep: {run.seed: [1]}")
        self.expect(0, run(2, "sweep", deck))
        self.expect(2, run(1, "sweep", deck), "holds other results")

    def test_a_dry_run_shows_the_plan_in_the_order_of_time(self):
        deck = self.sweep("sweep: {ranks: all, precision: [fp32, 5]}\nrepeat: 2")
        self.expect(4, run(2, "sweep", deck, "--dry-run"), "no file matches")
        self.prepare()
        plan = self.expect(0, run(2, "sweep", deck, "--dry-run"))[2]
        lines = [line for line in plan.splitlines() if line.startswith("[")]
        self.assertEqual([line.split()[1] for line in lines],
                         ["0004", "0006", "0000", "0002", "0003", "0001", "0007", "0005"])
        self.assertRegex(lines[0], r"^\[1/8\] 0004  ranks 2  precision fp32  repeat 0  6 steps$")
        self.assertRegex(lines[1], r"^\[2/8\] 0006  ranks 2  precision 5     repeat 0  refused: ")

    def test_a_dry_run_misses_the_model_folder(self):
        Path(self.path("llm.yaml")).write_text("task: llm\nmodel: {path: nowhere}\ndata: {train: x*.h5}\n")
        deck = self.path("tuning.yaml")
        Path(deck).write_text("base: llm.yaml\nsweep: {method.rank: [4, 8]}\n")
        self.expect(4, run(1, "sweep", deck, "--dry-run"), "nowhere/config.json cannot be read")

    def test_every_part_of_the_study_runs(self):
        self.prepare()
        small = ["--quick", "data.train=" + self.path("train*.h5"), "data.test=null", "model.width=0.25", "repeat=1",
                 "run.global_batch=8", "limits.steps=2", "limits.skip_steps=1"]
        decks = sorted(Path(os.environ["MULTICARD_SOURCE"]).glob("inputs/image/study/*.yaml"))
        self.assertEqual(len(decks), 6)
        for deck in decks:
            output = self.path(deck.stem)
            size = "data.image_size=32" if deck.stem == "exchange" else "sweep.data.image_size=[32]"
            self.expect(0, run(2, "sweep", str(deck), size, "run.output=" + output, *small))
            failed = [r for r in self.runs(output + "/results.h5") if r["status"] != "complete"]
            self.assertTrue(all(r["precision"] == "tf32" for r in failed), failed)

    def test_every_variant_has_its_own_peak_of_memory(self):
        self.prepare()
        self.expect(0, run(1, "sweep", self.sweep("sweep: {data.image_size: [256, 32]}")))
        large, small = (int(r["host_peak_bytes"]) for r in self.runs(self.path("sweep/results.h5")))
        self.assertLess(small, 0.7 * large)

    def test_too_many_ranks(self):
        self.prepare()
        self.expect(3, run(2, "sweep", self.sweep("sweep: {ranks: [1, 4]}")), "4")

    def test_unknown_axis(self):
        self.expect(2, run(1, "sweep", self.sweep("sweep: {data.image_sise: [32]}")), "image_size")


class StudyOfMethods(CommandTest):
    def study(self, *options):
        return subprocess.run([SOURCE / "scripts/study_methods.sh", "--quick", "--ranks", "2", "--no-counts", "-o",
                               self.path("study"), "data.max_length=256", *options], capture_output=True, text=True,
                              env={**os.environ, "MODEL": str(SOURCE / "tests/data/models/tinystories-656K"),
                                   "MULTICARD_BUILD": str(BIN.parent)})

    def test_one_script_compares_all_methods_and_continues(self):
        done = self.study()
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("16 of 16 runs complete", done.stderr)
        runs = self.runs(self.path("study/results.h5"))
        methods = ["dpo", "full", "lora", "lora-dpo", "lora-qat", "qat", "qlora", "qlora-dpo"]
        self.assertEqual(sorted((run["case"], run["ranks"]) for run in runs if run["status"] == "complete"),
                         [(method, ranks) for method in methods for ranks in "12"])
        report = Path(self.path("study/report/report.html")).read_text()
        for words in ("next-token prediction on 2 ranks)</h1>", "Rate against memory: preferences"):
            self.assertIn(words, report)
        done = self.study()
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("reusing", done.stderr)
        self.assertIn("holds this sweep, finished", done.stderr)

    def test_splitting_is_an_axis(self):
        done = self.study("sweep.parallel.shard=[none,full]", "sweep.cases=[{name: full, method: {name: full}}]",
                          "sweep.ranks=[2]")
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("2 of 2 runs complete", done.stderr)
        self.assertEqual(sorted(run["axis.parallel.shard"] for run in self.runs(self.path("study/results.h5"))),
                         ["full", "none"])

    def test_wrong_options_are_named(self):
        for options, words in ((["--fast"], "unknown option --fast"), (["--ranks=1"], "unknown option --ranks=1"),
                               (["--ranks", "0"], "at least 1, not 0"), (["--ranks"], "--ranks needs a value")):
            done = self.study(*options)
            self.assertEqual(2, done.returncode)
            self.assertIn(words, done.stderr)
        self.assertFalse(os.path.exists(self.path("study")))


class SweepFailure(SweepTest):
    def test_refused_backends_and_batches_are_recorded(self):
        self.prepare()
        deck = self.sweep("sweep: {parallel.backend: [nccl, mpi], data.drop_last: [true, false]}")
        self.expect(0, run(2, "sweep", deck, "run.global_batch=80"))
        runs = sorted(self.runs(self.path("sweep/results.h5")), key=lambda r: r["run"])
        self.assertEqual([r["status"] for r in runs], ["failed", "failed", "failed", "complete"])

    def test_agreed_failures_are_recorded(self):
        self.prepare()
        deck = self.sweep("sweep: {optimizer.learning_rate: [0.05, 1.0e+30], parallel.shard: [none, full]}")
        self.expect(0, run(2, "sweep", deck, "run.ema_decay=0.9"), "1 of 4 runs complete",
                    r"failed +0001, 0003: deck .*parallel\.shard", r"failed +0002: ")
        runs = sorted(self.runs(self.path("sweep/results.h5")), key=lambda r: r["run"])
        self.assertEqual([r["status"] for r in runs], ["complete", "failed", "failed", "failed"])
        self.assertEqual({r["model"] for r in runs}, {"mobilenet_v2"})

    def endless_sweep(self, text):
        """Two variants, of which the second does not come to an end by itself."""
        deck = self.sweep("sweep: {run.steps: [6, 1000000]}\n" + text)
        Path(deck).write_text(Path(deck).read_text().replace("limits: {steps: 6, skip_steps: 1}\n", ""))
        return deck

    def kill_in_the_second_variant(self, deck, times_begun):
        process = launch(2, "sweep", deck, start_new_session=True)
        self.addCleanup(self.kill_group, process)
        mark = Path(self.path("sweep/partial/0001.running"))
        wait_for(lambda: mark.exists() and mark.read_text() == str(times_begun))
        time.sleep(1)
        os.kill(ranks_of(process)[1], signal.SIGKILL)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 137)

    def test_a_killed_variant_runs_again_once(self):
        self.prepare()
        deck = self.endless_sweep("")
        self.kill_in_the_second_variant(deck, 1)
        self.kill_in_the_second_variant(deck, 2)
        self.expect(0, run(2, "sweep", deck), "already finished", "the job ended twice while this variant ran")
        runs = self.runs(self.path("sweep/results.h5"))
        self.assertEqual({r["run"]: r["status"] for r in runs}, {"0000": "complete", "0001": "failed"})

    def test_a_killed_variant_can_still_complete(self):
        self.prepare()
        deck = self.sweep("sweep: {run.seed: [1, 2]}")
        process = launch(2, "sweep", deck, "limits.steps=400", start_new_session=True)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: os.path.exists(self.path("sweep/partial/0001.running")))
        self.kill_group(process)
        self.expect(0, run(2, "sweep", deck, "limits.steps=400"), "0001 runs again", "2 of 2 runs complete")

    def test_a_stopped_sweep_goes_on_without_what_only_the_first_launch_was_told(self):
        self.prepare()
        deck = self.endless_sweep("")
        process = launch(1, "sweep", deck, "run.resume=never")
        self.addCleanup(process.kill)
        wait_for(lambda: os.path.exists(self.path("sweep/partial/0001.running")))
        process.send_signal(signal.SIGUSR1)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75)
        self.expect(75, run(1, "sweep", deck, "run.wall_limit=3"), "already finished", "stopped")

    def test_a_sweep_of_failures_ends_with_the_first_ones_code(self):
        self.prepare()
        deck = self.sweep("sweep: {cases: [{name: a, optimizer.learning_rate: 1.0e+30}, "
                          "{name: b, parallel.shard: full, run.ema_decay: 0.9}]}")
        self.expect(6, run(2, "sweep", deck), "0 of 2 runs complete", "failed +0000: the loss of step")
        results = self.path("sweep/results.h5")
        self.assertEqual([r["status"] for r in self.runs(results)], ["failed", "failed"])
        for name, code in (("0000", 6), ("0001", 2)):
            self.assertEqual([float(x) for x in self.dataset(results, "/runs/%s/sweep/exit_code" % name)], [code])
        self.expect(6, run(2, "sweep", deck), "holds this sweep, finished")

    def test_a_variant_that_takes_too_long_ends_the_job(self):
        self.prepare()
        deck = self.endless_sweep("limits: {timeout_s: 4}")
        self.expect(5, run(1, "sweep", deck), r"run 0001 did not end within 4 s \(limits\.timeout_s\)")
        self.expect(0, run(1, "sweep", deck), "1 of 2 runs complete", "failed +0001: run 0001 did not end")

    def test_two_sweeps_do_not_share_a_folder(self):
        self.prepare()
        deck = self.endless_sweep("")
        process = launch(2, "sweep", deck, start_new_session=True)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: os.path.exists(self.path("sweep/partial/0001.running")))
        self.expect(2, run(1, "sweep", deck),
                    r"another run is writing into .*/sweep \(process %d on " % ranks_of(process)[0])
        self.expect(2, run(1, "run", self.deck, "run.output=" + self.path("sweep")), "another run is writing into")
        process.send_signal(signal.SIGUSR1)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
