#!/usr/bin/env python3
"""multicard share as a person runs it: tasks side by side, moves, arrivals, failures, stops and kills. Standard library
only.

usage: share_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs, MULTICARD_KILLS how often
                            shares are killed (4)
"""

import json
import os
import random
import re
import signal
import sys
import time
import unittest
from pathlib import Path

from command_test import CommandTest, launch, ranks_of, run, wait_for

KILLS = int(os.environ.get("MULTICARD_KILLS", "4"))
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1"}


class ShareTest(CommandTest):
    def share(self, tasks, **sections):
        """A deck of tasks, each a dictionary; `sections` are lines of YAML."""
        lines = ["tasks:"] + ["  - {deck: deck.yaml, %s}" % task for task in tasks]
        lines += ["%s: %s" % (name, text) for name, text in sections.items() if name != "run"]
        lines.append("run: {output: %s%s}" % (self.path("shared"), sections.get("run", "")))
        deck = self.path("share.yaml")
        Path(deck).write_text("\n".join(lines) + "\n")
        return deck

    def results(self):
        return self.path("shared/results.h5")

    def status(self, task):
        return re.search(r'\(0\): "(\w+)', self.attribute(self.results(), "/runs/%s/status" % task)).group(1)

    def steps(self, task):
        return len(self.dataset(self.results(), "/runs/%s/metrics/train_loss" % task))

    def newest_checkpoint(self, task):
        """The number of steps after which it was written."""
        return max(int(path.parent.name[5:])
                   for path in Path(self.path("shared/tasks/%s/checkpoints" % task)).glob("step_*/COMPLETE"))

    def record(self):
        return json.loads(Path(self.path("shared/share.json")).read_text())

    def setUp(self):
        super().setUp()
        text = Path(self.deck).read_text().replace("checkpoint_every: 4, ", "")
        Path(self.deck).write_text(text.replace("epochs: 1", "steps: 20"))
        self.prepare()


class Share(ShareTest):
    def test_a_smoke_share_is_short(self):
        deck = self.share(["name: one", "name: two, steps: 800"], policy="{interval_s: 60}")
        self.expect(0, run(2, "share", deck, "--smoke", "tasks.1.steps=6"), "smoke share")
        results = self.path("shared_smoke/results.h5")
        self.assertEqual([len(self.dataset(results, "/runs/%s/metrics/train_loss" % task))
                          for task in ("one", "two")], [6, 12])
        self.assertEqual({r["quick"] for r in self.runs(results)}, {"1"})
        self.assertFalse(os.path.exists(self.path("shared")))

    def test_tasks_run_side_by_side_and_the_ranks_of_one_that_ends_are_given_on(self):
        deck = self.share(["name: short, steps: 10", "name: long, steps: 800, overrides: {run.seed: 4}"],
                          policy="{interval_s: 60, min_gain: 0}")  # a round when a task ends
        _, _, err = self.expect(0, run(2, "share", deck), r"short: 0 -> 1 rank .short has no measurements yet",
                                r"not used  short: run\.output, long: run\.output", r"the tasks took [\d.]+ s;",
                                r"one after another: [\d.]+ s .*short was not measured on 2 ranks",
                                r"equal split: [\d.]+ s \([\d.]+-[\d.]+ s\)")
        self.assertRegex(err, r"long: 1 -> 2 ranks .*predicted gain")
        self.assertEqual([self.status(task) for task in ("short", "long")], ["complete", "complete"])
        self.assertEqual([self.steps(task) for task in ("short", "long")], [10, 800])
        intervals = [entry for entry in self.record()["intervals"] if entry["task"] == "long"]
        ranks = [entry["ranks"] for entry in intervals]
        self.assertEqual(ranks[:2], [1, 2])  # where two are found to be slower, it leaves one of them again
        self.assertEqual(self.dataset(self.results(), "/runs/long/segments/ranks"), list(map(str, ranks)))
        self.assertGreater(min(entry["measured_step_s"] for entry in intervals[:2]), 0)
        self.assertGreater(intervals[1]["predicted_step_s"], 0)
        self.assertEqual(len(self.dataset(self.results(), "/allocation/intervals/ranks")),
                         len(self.record()["intervals"]))
        self.assertEqual(len(self.dataset(self.results(), "/allocation/kept/time_s")), len(self.record()["kept"]))
        again = self.expect(0, run(2, "share", deck), "task      short has finished before")
        self.assertNotIn("->", again[2])
        self.assertEqual(self.steps("long"), 800)

    def test_a_task_that_no_longer_improves_ends_early_and_gives_its_ranks_on(self):
        patient = ("evaluate.every_steps: 3, evaluate.every_epochs: 0, evaluate.patience: 1, "
                   "evaluate.min_delta: 1")
        deck = self.share(["name: patient, steps: 400, overrides: {%s}" % patient,
                           "name: other, steps: 40, overrides: {run.seed: 4}"], policy="{interval_s: 60, min_gain: 0}")
        self.expect(0, run(2, "share", deck), "early, after 6 of 400 steps")
        self.assertEqual([self.status(task) for task in ("patient", "other")], ["complete", "complete"])
        self.assertEqual([self.steps(task) for task in ("patient", "other")], [6, 40])
        self.assertIn("6", self.attribute(self.results(), "/runs/patient/early_stop_step").split("DATA")[1])
        again = self.expect(0, run(2, "share", deck), "task      patient has finished before")
        self.assertNotIn("->", again[2])

    def test_progress_and_what_is_expected_are_logged(self):
        deck = self.share(["name: one, steps: 200", "name: two, steps: 200, overrides: {run.seed: 4}"],
                          policy="{interval_s: 0.2, min_gain: 0.9}")  # nothing gains so much
        _, _, err = self.expect(0, run(2, "share", deck), r"expected +makespan of what is left: [\d.]+ s by sharing, "
                                r"[\d.]+ s one after another, [\d.]+ s in the equal split",
                                r"sharing is not expected to gain 90 % over (one after another|the equal split)",
                                r"one 1 rank, [\d.]+ steps/s, .* left \| two 1 rank.*; next decision in")
        self.assertEqual(len(re.findall("expected +makespan", err)), 1)
        reasons = [entry["reason"] for entry in self.record()["kept"]]
        self.assertTrue(any(re.search("no other split|less than the required", text) for text in reasons), reasons)

    def test_the_live_line_counts_down(self):
        deck = self.share(["name: one, steps: 400"], policy="{interval_s: 3}")
        _, _, err = self.expect(0, run(1, "share", deck, env={**os.environ, "MULTICARD_PROGRESS": "live"}))
        self.assertGreater(len(set(re.findall("next decision in ([^\r\n\x1b]+)", err))), 1)

    def test_a_dry_run_checks_data_and_memory(self):
        missing = self.share(["name: one", "name: two, overrides: {data.train: %s}" % self.path("none*.h5")])
        self.expect(4, run(2, "share", missing, "--dry-run"), "none")
        self.assertFalse(os.path.exists(self.path("shared")))

    def test_what_a_dry_run_says_is_not_done(self):
        deck = self.share(["name: one", "name: two"], policy="{name: sequential}")
        self.expect(0, run(2, "share", deck, "--dry-run"), "one after another|one task after another",
                    "one: 2 ranks", "two: 0 ranks")
        self.assertFalse(os.path.exists(self.path("shared")))
        _, out, _ = self.expect(0, run(1, "share", deck, "--print-config"))
        self.assertIn("steps: 20", out)

    def test_the_policies_give_what_they_say(self):
        deck = self.share(["name: one, steps: 6", "name: two, steps: 6"])
        for policy, expected in (("sequential", {("one", 2), ("two", 2)}), ("equal", {("one", 1), ("two", 1)}),
                                 ("fixed", {("one", 2), ("two", 2)})):
            ranks = ("policy.ranks.one=2", "policy.ranks.two=2") if policy == "fixed" else ()
            self.expect(0, run(2, "share", deck, "policy.name=" + policy, "run.resume=never", *ranks))
            self.assertEqual({(entry["task"], entry["ranks"]) for entry in self.record()["intervals"]}, expected)

    def test_more_tasks_than_ranks_wait_for_their_turn(self):
        deck = self.share(["name: t%d, steps: 8" % i for i in range(5)], policy="{interval_s: 0.3}")
        self.expect(0, run(2, "share", deck))
        self.assertEqual([self.steps("t%d" % i) for i in range(5)], [8] * 5)

    def test_a_single_process_shares_too(self):
        deck = self.share(["name: one, steps: 5", "name: two, steps: 5"], policy="{interval_s: 0.3}")
        self.expect(0, run(1, "share", deck))
        self.assertEqual([self.steps("one"), self.steps("two")], [5, 5])

    def test_a_task_arrives(self):
        os.mkdir(self.path("in"))
        deck = self.share(["name: first, steps: 150"], policy="{interval_s: 0.3}",
                          arrivals="{folder: %s, wait_s: 3}" % self.path("in"))
        process = launch(2, "share", deck)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: os.path.exists(self.path("shared/share.json")))
        Path(self.path("in/.new")).write_text("{name: second, deck: ../deck.yaml, steps: 12}\n")
        Path(self.path("in/.bad")).write_text("{name: first, deck: ../deck.yaml}\n")
        os.rename(self.path("in/.new"), self.path("in/second.yaml"))
        os.rename(self.path("in/.bad"), self.path("in/bad.yaml"))
        out, err = process.communicate(timeout=120)
        self.expect(0, (process.returncode, out, err), "second has arrived",
                    "warning: the task of .*bad.yaml is not taken: .*a task is named 'first' already")
        self.assertEqual(sorted(os.listdir(self.path("in"))), ["bad.yaml.refused", "second.yaml.claimed"])
        self.assertEqual([self.steps("first"), self.steps("second")], [150, 12])

    def test_a_deck_may_have_arrivals_alone(self):
        os.mkdir(self.path("in"))
        Path(self.path("in/only.yaml")).write_text("{name: only, deck: ../deck.yaml, steps: 5}\n")
        for policy in ("adaptive", "equal", "sequential"):
            deck = self.share([], policy="{name: %s, interval_s: 0.3}" % policy,
                              arrivals="{folder: %s, wait_s: 0.5}" % self.path("in"))
            text = Path(deck).read_text().replace("tasks:\n", "")
            Path(deck).write_text(text)
            self.expect(0, run(2, "share", deck, "run.resume=never"), "only has arrived")
            self.assertEqual(self.steps("only"), 5)
            os.rename(self.path("in/only.yaml.claimed"), self.path("in/only.yaml"))

    def test_a_signal_to_any_rank_ends_the_wait_for_arrivals(self):
        deck = self.share(["name: one, steps: 4"], arrivals="{folder: %s, wait_s: 60}" % self.path("none"))
        process = launch(2, "share", deck, start_new_session=True)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: os.path.exists(self.path("shared/tasks/one/results.h5")))
        time.sleep(0.5)
        os.kill(ranks_of(process)[1], signal.SIGUSR1)
        out, err = process.communicate(timeout=30)
        self.expect(75, (process.returncode, out, err), "arrivals.folder .*none is not a folder")

    def test_an_arrival_that_cannot_start_is_recorded(self):
        os.mkdir(self.path("in"))
        Path(self.path("in/odd.yaml")).write_text("{name: odd, deck: ../deck.yaml, min_ranks: 3}\n")
        deck = self.share(["name: first, steps: 20"], policy="{interval_s: 0.3}",
                          arrivals="{folder: %s}" % self.path("in"))
        self.expect(2, run(2, "share", deck), "task odd, which has arrived, cannot start: task odd cannot run")
        self.assertEqual([self.status("first"), self.status("odd")], ["complete", "failed"])


class ShareFailure(ShareTest):
    def test_what_cannot_be_shared_is_refused(self):
        self.expect(2, run(2, "share", self.share(["name: a, overrides: {run.batch_per_rank: 4}"])),
                    "batch_per_rank: cannot be shared")
        self.expect(2, run(2, "share", self.share(["name: a, min_ranks: 3"])), "task a cannot run .it needs 3 ranks")

    def test_a_deck_that_is_refused_deletes_no_earlier_output(self):
        self.expect(0, run(2, "share", self.share(["name: one, steps: 4"])))
        self.expect(2, run(2, "share", self.share(["name: one, min_ranks: 3"]), "run.resume=never"))
        self.assertEqual(self.steps("one"), 4)
        self.assertTrue(os.path.exists(self.path("shared/tasks/one/checkpoints")))

    def test_the_failure_of_one_task_is_its_own(self):
        for ranks in (2, 3):
            deck = self.share(["name: good, steps: 30", "name: bad, overrides: {optimizer.learning_rate: 1.0e+30}"],
                              policy="{interval_s: 0.3}")
            self.expect(6, run(ranks, "share", deck, "run.resume=never"), "task bad failed: the loss of step")
            self.assertEqual([self.status("good"), self.status("bad")], ["complete", "failed"])
            self.assertEqual(self.steps("good"), 30)

    def is_blocked(self, record):
        """Puts a folder in the place of a file that is written again and again."""
        if not record.exists():
            return False
        record.unlink()
        try:
            os.makedirs(record / "in the way")
        except (FileExistsError, NotADirectoryError):  # it has been written in between
            return False
        return True

    def test_a_record_that_cannot_be_written_costs_no_task(self):
        deck = self.share(["name: one, steps: 300", "name: two, steps: 300"], policy="{interval_s: 0.3}")
        process = launch(2, "share", deck)
        self.addCleanup(self.kill_group, process)
        record = Path(self.path("shared/share.json"))
        wait_for(lambda: self.is_blocked(record))
        out, err = process.communicate(timeout=120)
        self.expect(4, (process.returncode, out, err), r"warning: .*share\.json.* The tasks continue\.",
                    "one is complete", "two is complete")
        (record / "in the way").rmdir()
        record.rmdir()
        self.expect(0, run(2, "share", deck), "one has finished before")
        self.assertEqual([self.steps("one"), self.steps("two")], [300, 300])

    def test_a_signal_stops_all_tasks_and_any_number_of_ranks_resumes_them(self):
        tasks = ("one", "two")
        endless = ["name: %s, steps: 100000" % task for task in tasks]
        process = launch(2, "share", self.share(endless + ["name: three, steps: 10"], policy="{interval_s: 0.5}"),
                         start_new_session=True)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: os.path.exists(self.path("shared/share.json")) and self.record()["elapsed_s"] > 2)
        for rank in ranks_of(process):
            os.kill(rank, signal.SIGUSR1)
        out, err = process.communicate(timeout=120)
        self.expect(75, (process.returncode, out, err), "stopped +by signal SIGUSR1")
        self.assertEqual([self.status(task) for task in tasks], ["stopped", "stopped"])
        before = {task: self.newest_checkpoint(task) for task in tasks}
        more = ["name: %s, steps: %d" % (task, before[task] + 20) for task in tasks]
        self.expect(0, run(3, "share", self.share(more + ["name: three, steps: 10"], policy="{interval_s: 0.5}")),
                    *["task +%s .resuming from .*tasks/%s/checkpoints/step_0*%d" % (task, task, before[task])
                      for task in tasks])
        self.assertEqual([self.steps(task) for task in (*tasks, "three")], [before[task] + 20 for task in tasks] + [10])
        self.assertGreater(self.record()["elapsed_s"], 2)

    def test_a_rank_that_is_lost_ends_the_job_and_all_tasks_resume(self):
        tasks = ("one", "two")
        endless = ["name: %s, steps: 100000" % task for task in tasks]
        process = launch(2, "share", self.share(endless, policy="{interval_s: 0.3}", run=", checkpoint_every_s: 0.3"),
                         start_new_session=True)
        self.addCleanup(self.kill_group, process)
        newest = lambda task: self.path("shared/tasks/%s/checkpoints" % task)
        wait_for(lambda: all(list(Path(newest(task)).glob("step_*/COMPLETE")) for task in tasks))
        os.kill(ranks_of(process)[1], signal.SIGKILL)
        _, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 137)
        before = {task: self.newest_checkpoint(task) for task in tasks}
        more = ["name: %s, steps: %d" % (task, before[task] + 20) for task in tasks]
        self.expect(0, run(1, "share", self.share(more)),
                    *["task +%s .resuming from .*tasks/%s/checkpoints/step_0*%d" % (task, task, before[task])
                      for task in tasks])
        self.assertEqual([self.steps(task) for task in tasks], [before[task] + 20 for task in tasks])

    def test_a_rank_that_stops_answering_is_5_though_no_collective_waits_for_it(self):
        process = launch(2, "share", self.share(["name: one, steps: 100000", "name: two, steps: 100000"],
                                                policy="{name: fixed, ranks: {one: 1, two: 1}, interval_s: 0.3}",
                                                run=", timeout_s: 2, checkpoint_every_s: 0.3"), start_new_session=True)
        self.addCleanup(self.kill_group, process)
        newest = self.path("shared/tasks/two/checkpoints")
        wait_for(lambda: list(Path(newest).glob("step_*/COMPLETE")))
        os.kill(ranks_of(process)[1], signal.SIGSTOP)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 5, err)
        self.assertRegex(err, r"rank 1 did not answer for 4 s \(|rank 0 on .* did not finish within 2 s")

    def time_of_record(self):
        record = Path(self.path("shared/share.json"))
        return record.stat().st_mtime_ns if record.exists() else 0

    def train_apart(self, task, overrides):
        """Losses of a task that `multicard run` resumes from files at the steps and on the ranks of the share."""
        first, ranks = (list(map(int, self.dataset(self.results(), "/runs/%s/segments/%s" % (task, name))))
                        for name in ("first_step", "ranks"))
        output = self.path("apart_" + task)
        for end, number in zip(first[1:] + [self.steps(task)], ranks):
            process = launch(number, "run", self.deck, "run.output=" + output, "run.steps=%d" % end, *overrides,
                             env=ONE_THREAD)
            out, err = process.communicate(timeout=120)
            self.expect(0, (process.returncode, out, err))
        print("task %s: steps %s on %s ranks" % (task, first, ranks))
        return self.dataset(output + "/results.h5", "/runs/main/metrics/train_loss")

    def test_killed_shares_go_on_bit_for_bit(self):
        num_steps = 100 * KILLS
        tasks = {task: ["run.deterministic=true", "run.seed=%d" % seed] for task, seed in (("one", 1), ("two", 2))}
        overrides = {task: ", ".join(keys).replace("=", ": ") for task, keys in tasks.items()}
        deck = self.share(["name: %s, steps: %d, overrides: {%s}" % (task, num_steps, overrides[task])
                           for task in tasks],
                          policy="{interval_s: 0.3, min_gain: 0}", run=", checkpoint_every_s: 0.3")
        dice = random.Random(20261123)
        for _ in range(KILLS):
            before = self.time_of_record()
            process = launch(dice.choice((1, 2, 3)), "share", deck, start_new_session=True, env=ONE_THREAD)
            self.addCleanup(self.kill_group, process)
            if dice.random() < 0.7:  # else while it starts
                wait_for(lambda: self.time_of_record() != before or process.poll() is not None)
            time.sleep(dice.uniform(0, 2))
            self.kill_group(process)
        process = launch(2, "share", deck, env=ONE_THREAD)
        out, err = process.communicate(timeout=600)
        self.expect(0, (process.returncode, out, err))
        self.assertEqual([self.steps(task) for task in tasks], [num_steps] * 2)
        times = [entry["start_s"] for entry in self.record()["intervals"]]
        self.assertEqual(times, sorted(times))
        for task, keys in tasks.items():
            self.assertEqual(self.dataset(self.results(), "/runs/%s/metrics/train_loss" % task),
                             self.train_apart(task, keys))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
