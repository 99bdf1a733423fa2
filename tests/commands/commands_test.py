#!/usr/bin/env python3
"""The commands as a person runs them: exit codes, messages, files, failures. Standard library only.

usage: commands_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from command_test import CommandTest, launch, ranks_of, run, wait_for


class Usage(CommandTest):
    def test_help_and_version(self):
        self.assertIn("sweep", self.expect(0, run(1, "--help"))[1])
        self.assertRegex(self.expect(0, run(1, "--version"))[1], r"multicard \d+\.\d+\.\d+")

    def test_no_or_unknown_command(self):
        self.expect(2, run(1))
        self.expect(2, run(1, "trian"))

    def test_options_of_generate_that_make_no_sense(self):
        self.expect(2, run(1, "generate", "m", "x", "--max-new", "0"), "--max-new: Value 0 not in range 1 to 1048576")
        self.expect(2, run(1, "generate", "m", "x", "--greedy", "--temperature", "0.5"), "--greedy excludes --temp")

    def test_unknown_key_names_the_nearest(self):
        self.expect(2, run(2, "run", self.deck, "optimizer.learning_rat=1"),
                    r"optimizer\.learning_rat.*unknown key.*Did you mean learning_rate")

    def test_wrong_type(self):
        self.expect(2, run(1, "run", self.deck, "run.epochs=many"), r"run\.epochs.*many")

    def test_missing_deck_is_said_once(self):
        result = self.expect(2, run(2, "run", self.path("none.yaml")), "none.yaml")
        self.assertEqual(result[2].count("none.yaml"), 1, result[2])

    def test_what_this_version_does_not_offer(self):
        self.expect(2, run(1, "run", self.deck, "run.cuda_graph=true"), "true is not available")

    def test_print_config_is_a_whole_deck(self):
        code, out, _ = run(2, "run", self.deck, "--print-config", "run.seed=7")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"seed: 7")
        self.assertIn("timeout_s", out)


class Kinds(CommandTest):
    """Decks that are given to the command of another kind of deck."""

    DECKS = {"run": None,
             "sweep": "base: deck.yaml\nsweep: {ranks: [1, 2]}\nrun: {output: out}\n",
             "share": "tasks:\n  - {name: a, deck: deck.yaml}\nrun: {output: out}\n",
             "plan": "machine: {gpus: 2}\ntasks:\n  - {name: a, table: a.csv, work: 1}\n",
             "replay": "replay: {workload: w.csv, traces: t}\n"}

    def setUp(self):
        super().setUp()
        self.decks = {"run": self.deck}
        for kind, text in self.DECKS.items():
            if text:
                self.decks[kind] = self.path(kind + ".yaml")
                Path(self.decks[kind]).write_text(text)

    def test_another_commands_deck_is_named_with_that_command(self):
        own = {"run": ["run"], "sweep": ["sweep"], "share": ["share"], "plan": ["plan", "replay"], "eval": ["run"]}
        for command, kinds in own.items():
            for kind, deck in self.decks.items():
                if kind in kinds:
                    continue
                right = "plan" if kind == "replay" else kind
                _, _, err = self.expect(2, run(1, command, deck))
                self.assertIn("%s is a %s deck, not a %s deck" % (deck, right, kinds[0]), err)
                self.assertIn("Start it with multicard %s %s, or" % (right, deck), err)

    def test_so_it_is_before_a_deck_is_only_looked_at(self):
        for words in (["run", self.decks["sweep"], "--print-config"], ["run", self.decks["share"], "--dry-run"],
                      ["run", self.decks["sweep"], "--what-fits"], ["sweep", self.decks["run"], "--quick"],
                      ["sweep", self.decks["plan"], "--print-config"], ["share", self.decks["run"], "--dry-run"],
                      ["info", "--selftest", "--deck", self.decks["sweep"]]):
            self.expect(2, run(1, *words), "Start it with multicard")
        _, _, err = self.expect(2, run(2, "run", self.decks["sweep"]))
        self.assertEqual(err.count("is a sweep deck"), 1, err)

    def test_decks_that_decks_name_are_run_decks(self):
        Path(self.path("twice.yaml")).write_text("base: sweep.yaml\n")
        self.expect(2, run(1, "sweep", self.path("twice.yaml")), r"sweep\.yaml is a sweep deck, not a run deck")
        Path(self.path("of_sweeps.yaml")).write_text("tasks: [{name: a, deck: sweep.yaml}]\n")
        self.expect(2, run(1, "share", self.path("of_sweeps.yaml")), r"sweep\.yaml is a sweep deck, not a run deck")

    def test_a_deck_of_two_kinds_is_read_as_the_command_reads_it(self):
        Path(self.deck).write_text(Path(self.deck).read_text() + "policy: {name: equal}\n")
        self.expect(2, run(1, "run", self.deck), "policy: unknown key")


class Environment(CommandTest):
    def test_more_ranks_than_rows(self):
        self.prepare()
        self.expect(3, run(2, "run", self.deck, "run.global_batch=1"), "2 ranks cannot share a global batch of 1")

    def test_more_memory_than_there_is(self):
        self.prepare()
        self.expect(3, run(2, "run", self.deck, "data.image_size=4000", "run.global_batch=64", "--dry-run"),
                    "this run would need .* available")

    def test_cuda_without_a_gpu(self):
        if shutil.which("nvidia-smi"):
            self.skipTest("this machine has a GPU")
        self.prepare()
        self.expect(3, run(1, "run", self.deck, "run.device=cuda"))

    def test_one_rank_in_a_slurm_step_of_many(self):
        os.environ["SLURM_STEP_NUM_TASKS"] = "4"
        try:
            self.expect(3, run(1, "info"), "--mpi=pmix")
        finally:
            del os.environ["SLURM_STEP_NUM_TASKS"]

    def test_info_has_a_checklist(self):
        _, text, _ = self.expect(0, run(1, "info"))
        self.assertNotRegex(text, r"(?m)^  \w+ *$", "a version that is not known")
        code, out, err = run(2, "info", "--json")
        self.assertEqual(code, 0, err)
        checks = {check["name"]: check for check in json.loads(out)["checks"]}
        self.assertEqual(list(checks), ["GPU path", "driver", "GPUs", "CUDA runtime", "cuDNN", "NCCL", "peer access",
                                        "NUMA", "GPU per rank"])
        for check in checks.values():
            self.assertEqual(check["ok"] is False, "to_do" in check, check)

    def test_gpus_that_cannot_be_used(self):
        if shutil.which("nvidia-smi"):
            self.skipTest("this machine has a GPU")
        self.prepare()
        os.makedirs(self.path("driver/gpus/0000:18:00.0"))
        Path(self.path("driver/version")).write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n")
        os.environ["MULTICARD_NVIDIA_PROC"] = self.path("driver")
        try:
            self.expect(3, run(2, "run", self.deck, "run.device=cuda"), "run.device is cuda, but .*550.54.15")
            self.expect(0, run(2, "run", self.deck, "run.steps=1"), "NO GPU IS USED, .*550.54.15.*run.device=cpu")
            code, out, err = run(2, "info", "--json")
            self.assertEqual(code, 0, err)
            self.assertIn(False, [check["ok"] for check in json.loads(out)["checks"]])
        finally:
            del os.environ["MULTICARD_NVIDIA_PROC"]


class Data(CommandTest):
    def test_missing_shards(self):
        self.expect(4, run(2, "run", self.deck), "train")

    def test_not_a_shard(self):
        self.prepare()
        Path(self.path("train-00000-of-00001.h5")).write_text("nonsense")
        self.expect(4, run(2, "run", self.deck), "train-00000-of-00001.h5")

    def test_existing_output(self):
        self.prepare()
        self.expect(4, run(1, "prepare", "images", "--format", "synthetic", "--size", "32", "--limit", "8", "-o",
                           self.path("train")), "train-00000-of-00001.h5")

    def test_a_terminated_prepare_leaves_nothing(self):
        os.mkdir(self.path("new"))
        process = launch(1, "prepare", "images", "--format", "synthetic", "--size", "64", "--limit", "60000", "-o",
                         self.path("new/train"))
        self.addCleanup(process.kill)
        wait_for(lambda: os.listdir(self.path("new")))
        process.terminate()
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM, err)
        self.assertIn("ended by SIGTERM", err)
        self.assertNotIn("MPI_ABORT", err)
        self.assertEqual(os.listdir(self.path("new")), [])

    def test_weights_that_do_not_fit(self):
        self.prepare()
        self.expect(4, run(2, "run", self.deck, "model.weights=" + self.deck), "deck.yaml")


    def test_prepare_reports_progress_to_a_pipe(self):
        process = launch(1, "prepare", "images", "--format", "synthetic", "--limit", "300000", "--size", "64",
                         "--classes", "4", "-o", self.path("big/b"))
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertRegex(process.stderr.readline(),
                         r"^writing \d+ %, [\d,]+ of 300,000 images, [\d,.]+ images/s\n$")


class Run(CommandTest):
    def test_trains_and_writes_results(self):
        self.prepare(ranks=2)
        self.expect(0, run(2, "run", self.deck), "accuracy", "results")
        results = self.path("out/results.h5")
        self.assertEqual(len(self.dataset(results, "/runs/main/metrics/train_loss")), 4)
        self.assertEqual(len(self.dataset(results, "/runs/main/steps/step")), 8)
        self.assertIn('"complete"', self.attribute(results, "/runs/main/status"))
        # Read and transformed on both ranks: 32 images of 32 x 32 each.
        self.assertEqual(self.dataset(results, "/runs/main/input/stages/rank"), ["0", "0", "1", "1"])
        self.assertEqual(sum(map(float, self.dataset(results, "/runs/main/input/stages/bytes"))), 64 * 32 * 32 * 3)
        # The same images, the labels of both shards and the test images are read through HDF5; rank 0 writes a
        # checkpoint's records.
        kinds = self.text(results, "/runs/main/io/hdf5/name")
        self.assertIn('"read_independent"', kinds)
        read = [int(float(value)) for value in self.dataset(results, "/runs/main/io/hdf5/bytes")]
        self.assertGreater(sum(read), 64 * 32 * 32 * 3)
        self.assertIn("total", self.attribute(results, "/runs/main/io/hdf5/lock_seconds/merge"))
        self.assertTrue(os.path.exists(self.path("out/checkpoints/step_00000004/COMPLETE")))
        self.assertEqual([], [name for name in os.listdir(self.path("out")) if name.startswith(".")])

    def test_a_smoke_run_is_short_evaluates_and_is_repeated(self):
        self.prepare()
        Path(self.deck).write_text(Path(self.deck).read_text() + "smoke: {run: {seed: 5}}\n")
        for _ in range(2):
            self.expect(0, run(2, "run", self.deck, "--smoke"), "smoke run", "4 steps in total", "accuracy")
        results = self.path("out_smoke/results.h5")
        self.assertEqual(len(self.dataset(results, "/runs/main/metrics/train_loss")), 4)
        self.assertEqual([(r["quick"], r["global_batch"]) for r in self.runs(results)], [("1", "16")])
        self.assertIn("seed: 5", self.attribute(results, "/runs/main/deck"))
        self.assertFalse(os.path.exists(self.path("out")))
        self.expect(0, run(2, "run", self.deck, "--smoke", "run.epochs=2", "--dry-run"), "8 steps in total")
        self.expect(0, run(1, "eval", self.deck, "run.output=" + self.path("out_smoke")))

    def test_a_finished_run_is_not_repeated(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        self.expect(0, run(1, "run", self.deck), "finished")
        self.expect(2, run(1, "run", self.deck, "run.seed=4"), r"run\.seed has changed from 3 to 4")
        self.expect(0, run(1, "run", self.deck, "run.seed=4", "run.resume=never"))

    def test_more_epochs_go_on(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        self.expect(0, run(1, "run", self.deck, "run.epochs=2"), "resuming from")
        self.assertEqual(len(self.dataset(self.path("out/results.h5"), "/runs/main/metrics/train_loss")), 8)

    def test_stopped_and_resumed_is_uninterrupted(self):
        whole = self.path("whole")
        self.prepare()
        self.expect(0, run(2, "run", self.deck, "run.epochs=30", "run.output=" + whole))
        process = launch(2, "run", self.deck, "run.epochs=30", start_new_session=True)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: any(Path(self.path("out")).glob("checkpoints/step_*/COMPLETE")))
        process.send_signal(signal.SIGUSR1)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, err)
        self.assertIn('"stopped"', self.attribute(self.path("out/results.h5"), "/runs/main/status"))
        self.expect(0, run(2, "run", self.deck, "run.epochs=30"), "resuming from")
        for path in ("/runs/main/metrics/train_loss", "/runs/main/metrics/eval_loss"):
            self.assertEqual(self.dataset(self.path("out/results.h5"), path), self.dataset(whole + "/results.h5", path))
        self.assertEqual(len(self.dataset(self.path("out/results.h5"), "/runs/main/steps/step")), 240)

    def kill_after_a_checkpoint(self, *overrides):
        process = launch(2, "run", self.deck, *overrides, start_new_session=True)
        self.addCleanup(self.kill_group, process)
        before = {path.name for path in Path(self.path("out")).glob("checkpoints/step_*")}
        wait_for(lambda: any(path.parent.name not in before
                             for path in Path(self.path("out")).glob("checkpoints/step_*/COMPLETE")))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        for rank in ranks_of(process):
            os.kill(rank, signal.SIGKILL)

    def test_a_killed_extension_is_not_finished(self):
        self.prepare()
        self.expect(0, run(2, "run", self.deck, "run.steps=3"))
        self.kill_after_a_checkpoint("run.steps=100000")
        code, _, err = run(2, "run", self.deck, "run.steps=100000", "run.wall_limit=3")
        self.assertEqual(code, 75, err)
        self.assertIn("resuming from", err)

    def test_a_killed_new_start_is_not_finished(self):
        self.prepare()
        self.expect(0, run(2, "run", self.deck, "run.steps=3"))
        self.kill_after_a_checkpoint("run.steps=100000", "run.resume=never")
        self.assertFalse(os.path.exists(self.path("out/results.h5")))

    def test_a_bad_new_start_loses_nothing(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        self.expect(4, run(1, "run", self.deck, "run.resume=never", "data.train=nothere"))
        self.assertTrue(os.path.exists(self.path("out/checkpoints/step_00000004/COMPLETE")))

    def test_goes_on_with_other_ranks(self):
        whole = self.path("whole")
        self.prepare()
        fixed = ("model.freeze_batch_norm=true", "model.dropout=0.0", "precision=fp64", "data.layout=nchw")
        self.expect(0, run(1, "run", self.deck, *fixed, "run.epochs=3", "run.output=" + whole))
        for ranks, epochs in ((2, 1), (3, 2), (1, 3)):
            self.expect(0, run(ranks, "run", self.deck, *fixed, "run.epochs=%d" % epochs))
        for path in ("/runs/main/metrics/train_loss", "/runs/main/metrics/eval_loss"):
            resumed = self.dataset(self.path("out/results.h5"), path)
            expected = self.dataset(whole + "/results.h5", path)
            self.assertEqual(len(resumed), len(expected))
            for mine, theirs in zip(resumed, expected):
                self.assertAlmostEqual(float(mine), float(theirs), delta=1e-9 * (1 + abs(float(theirs))))
        self.assertEqual(len(self.dataset(self.path("out/results.h5"), "/runs/main/steps/step")), 3 * 12)

    def test_weak_scaling_is_not_continued_on_other_ranks(self):
        self.prepare()
        self.expect(0, run(2, "run", self.deck, "run.batch_per_rank=8"))
        self.expect(2, run(1, "run", self.deck, "run.batch_per_rank=8", "run.epochs=2"),
                    "the global batch has changed from 16 to 8")

    def test_starts_from_a_checkpoint_folder(self):
        self.prepare()
        self.expect(0, run(1, "run", self.deck))
        self.expect(0, run(1, "run", self.deck, "run.output=" + self.path("second"),
                           "model.weights=" + self.path("out/checkpoints/step_00000004")))

    def test_dry_run_leaves_nothing(self):
        self.prepare()
        self.expect(0, run(2, "run", self.deck, "--dry-run"), "dry run")
        self.assertFalse(os.path.exists(self.path("out")))


class Failure(CommandTest):
    def test_a_diverged_loss_is_6_and_recorded(self):
        self.prepare()
        self.expect(6, run(2, "run", self.deck, "optimizer.learning_rate=1e30"), r"the loss of step \d+ is")
        self.assertIn('"failed"', self.attribute(self.path("out/results.h5"), "/runs/main/status"))

    def test_non_finite_weights_are_never_saved(self):
        self.prepare()
        self.expect(6, run(2, "run", self.deck, "run.steps=1", "optimizer.learning_rate=3e38", "optimizer.momentum=0"))
        self.assertEqual([], list(Path(self.path("out")).glob("checkpoints/*")))

    def test_a_stop_while_the_run_is_built_counts(self):
        self.prepare()
        process = launch(2, "run", self.deck, "run.epochs=100000", start_new_session=True)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: len(ranks_of(process)) == 2)
        time.sleep(0.8)
        process.send_signal(signal.SIGUSR1)
        _, err = process.communicate(timeout=60)
        self.assertIn(process.returncode, (75,), err)

    def test_a_killed_rank_takes_the_others_down(self):
        process = self.start_long_run()
        start = time.time()
        os.kill(ranks_of(process)[1], signal.SIGKILL)
        process.communicate(timeout=30)
        self.assertEqual(process.returncode, 137)
        self.assertLess(time.time() - start, 10)

    def test_a_rank_that_stops_answering_is_5(self):
        process = self.start_long_run("run.timeout_s=2")
        os.kill(ranks_of(process)[1], signal.SIGSTOP)
        _, err = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 5, err)
        # While a checkpoint is written operations may take longer: then it is the heartbeats that tell.
        self.assertRegex(err, r"rank 0 on .*( at step \d+ did not finish within 2 s|rank 1 did not answer for 4 s)")

    def test_a_job_that_was_suspended_goes_on(self):
        process = self.start_long_run("run.timeout_s=2")
        ranks = ranks_of(process)
        for rank in ranks:
            os.kill(rank, signal.SIGSTOP)
        time.sleep(6)
        for rank in ranks:
            os.kill(rank, signal.SIGCONT)
        time.sleep(3)
        process.send_signal(signal.SIGUSR1)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 75, err)

    def test_an_error_of_one_rank_names_it(self):
        process = self.start_long_run()
        with open(self.path("train-00000-of-00001.h5"), "r+b") as shard:
            shard.truncate(9000)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 4, err)
        self.assertRegex(err, r"rank [01] on .*train-00000-of-00001\.h5")

    def test_a_full_disk_is_4(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to mount a small file system")
        self.prepare()
        os.mkdir(self.path("small"))
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "none", self.path("small")]).returncode:
            self.skipTest("no mount here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.path("small")])
        self.expect(4, run(2, "run", self.deck, "run.output=" + self.path("small/out")), "No space left|full")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
