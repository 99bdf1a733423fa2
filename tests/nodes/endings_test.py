#!/usr/bin/env python3
"""Links that are cut or slow, and nodes that are lost.

usage: endings_test.py NAME   runs one test class
"""

import os
import signal
import time
from pathlib import Path

from nodes_case import NodesTest, main, wait_for

LIMIT_S = 6


class Endings(NodesTest):
    def setUp(self):
        super().setUp()
        self.prepare()

    def checkpoints(self):
        return [path.name for path in Path(self.path("out")).glob("checkpoints/step_*")]

    def start(self, *overrides):
        """A run that will not end by itself, with a checkpoint written."""
        run = self.nodes.launch("1,1", "run", self.deck, "run.steps=100000", "run.epochs=null", "data.test=null",
                                "evaluate.every_epochs=0", "run.keep_checkpoints=100000", *overrides)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        wait_for(self.checkpoints)
        return run

    def wait(self, run, seconds):
        """Returns the exit code, the messages and the seconds that it took."""
        start = time.time()
        _, err = run.communicate(timeout=seconds)
        return run.returncode, err, time.time() - start

    def resume(self, counts="1,1"):
        """Of the run in its folder, to the next step but one."""
        last = max(int(name[5:]) for name in self.checkpoints())
        rest = ("run.steps=%d" % (last + 2), "run.epochs=null", "data.test=null", "evaluate.every_epochs=0")
        losses = self.train(counts, "out", *rest)
        self.assertEqual(len(losses), last + 2)

    def test_a_link_that_is_cut_ends_the_job_and_leaves_nothing(self):
        run = self.start("run.timeout_s=%d" % LIMIT_S)
        self.nodes.do("cut")
        code, err, seconds = self.wait(run, LIMIT_S + 30)
        self.assertEqual(code, 5, err)
        self.assertLess(seconds, LIMIT_S + 10)
        # Which of the two notices first depends on what the step was doing when the link was cut.
        self.assertRegex(err, r"(rank 0 on .* did not finish within|rank 1 did not answer for) %d s" % LIMIT_S)
        wait_for(lambda: not self.nodes.processes(), 10)
        self.nodes.do("restore")
        self.resume()

    def test_a_link_that_comes_back_in_time_costs_only_time(self):
        steps = 200
        rest = ("run.steps=%d" % steps, "run.epochs=null", "data.test=null", "evaluate.every_epochs=0",
                "run.keep_checkpoints=1000")
        undisturbed = self.train("1,1", "undisturbed", *rest)
        run = self.nodes.launch("1,1", "run", self.deck, "run.timeout_s=60", *rest)
        self.addCleanup(run.kill)
        wait_for(self.checkpoints)
        self.nodes.do("cut")
        time.sleep(1)
        before = self.checkpoints()
        self.assertLess(len(before), steps // 4)
        time.sleep(2)
        self.assertEqual(self.checkpoints(), before)
        self.nodes.do("restore")
        code, err, _ = self.wait(run, 60)
        self.assertEqual(code, 0, err)
        self.assertEqual(self.metric("out"), undisturbed)

    def test_a_link_that_is_slow_in_one_direction_is_named(self):
        self.nodes.do("limit", "20mbit", "a")
        code, _, err = self.nodes.run("1,1", "run", self.deck, "run.steps=30", "run.epochs=null", "data.test=null",
                                      "evaluate.every_epochs=0", "run.checkpoint_every=0", "profile.skip_steps=5")
        self.assertEqual(code, 0, err)
        results = self.path("out/results.h5")
        to = [int(rank) for rank in self.dataset(results, "/runs/main/links/received/rank")]
        rates = [float(b) / float(s) for b, s in zip(self.dataset(results, "/runs/main/links/received/bytes"),
                                                     self.dataset(results, "/runs/main/links/received/seconds"))]
        self.assertEqual(sorted(to), [0, 1])
        self.assertLess(rates[to.index(1)], 2.5e6 * 1.2)
        self.assertGreater(rates[to.index(0)], 4 * rates[to.index(1)])
        # On a machine that is busy otherwise, this is what the run is told.
        if "short of CPU cores" not in err:
            self.assertRegex(" ".join(err.split()), r"wait \d[\d.]* % of the time for transfers between them, and what "
                             r"rank 0 sends comes to rank 1 at \d[\d.]* .B/s, where other links .*node of rank 0")

    def test_a_node_that_is_lost_ends_the_job_and_the_other_resumes_alone(self):
        run = self.start("run.timeout_s=60")
        daemons = [process for process in self.nodes.processes("b")
                   if Path("/proc/%d/comm" % process).read_text().strip() == "orted"]
        os.kill(daemons[0], signal.SIGKILL)
        code, err, seconds = self.wait(run, 60)
        self.assertEqual(code, 205, err)
        self.assertIn("lost communication with a remote daemon", err)
        self.assertLess(seconds, 20)
        wait_for(lambda: not self.nodes.processes(), 10)
        self.resume(1)


if __name__ == "__main__":
    main()
