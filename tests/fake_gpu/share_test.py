#!/usr/bin/env python3
"""multicard share on fake GPUs: image and text work start at the same time, move and end, each rank on its own GPU.

usage: share_test.py NAME   runs one test class; see fake_run.py
"""

import json
import os
import re
from pathlib import Path

from fake_run import FakeGpuTest, launch, main, run, wait_for

SHARE_DECK = """\
tasks:
  - {name: vision, deck: image.yaml, steps: 6}
  - {name: llm, deck: language.yaml, steps: 500, overrides: {run.global_batch: 8}}
policy: {interval_s: 0.5, min_gain: 0}
run: {output: SCRATCH/shared, device: cuda}
"""


class Share(FakeGpuTest):
    def record(self):
        return json.loads(Path(self.path("shared/share.json")).read_text())

    def ranks_of_task(self, task):
        return [(entry["first_rank"], entry["ranks"]) for entry in self.record()["intervals"] if entry["task"] == task]

    def test_tasks_start_move_and_end_on_four_gpus(self):
        os.mkdir(self.path("in"))
        # Steps take milliseconds here: enough of them that both tasks outlast the rounds in which the third arrives.
        longer = SHARE_DECK.replace("steps: 6}", "steps: 800}").replace("steps: 500", "steps: 1500")
        deck = self.write("share.yaml", longer + "arrivals: {folder: SCRATCH/in, wait_s: 1}\n")
        process = launch(4, "share", deck)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: os.path.exists(self.path("shared/share.json")))
        self.write("in/.third", "{name: third, deck: ../image.yaml, steps: 5}\n")
        os.rename(self.path("in/.third"), self.path("in/third.yaml"))
        out, err = process.communicate(timeout=240)
        self.expect(0, (process.returncode, out, err), "third has arrived", "vision is complete", "llm is complete",
                    "third is complete")
        vision, llm = self.ranks_of_task("vision"), self.ranks_of_task("llm")
        self.assertEqual(vision[0][1], 2)
        self.assertEqual(llm[0], (2, 2))
        self.assertGreater(len(vision) + len(llm), 2, "one of them has made room for the third: " + err)
        self.assertEqual({one["status"] for one in self.runs(self.path("shared/results.h5"))}, {"complete"})

    def test_more_ranks_than_gpus_are_refused_before_anything_is_trained(self):
        deck = self.write("share.yaml", SHARE_DECK)
        code, _, err = run(3, "share", deck, devices=2)
        self.assertEqual(code, 3, err)
        self.assertRegex(err, "ranks 0, 2 on .* would use one GPU")
        self.assertNotRegex(err, "has no measurements yet")

    def write_large(self):
        """A share whose task vision takes most of a GPU's memory on one rank; returns its deck."""
        deck = self.write("share.yaml", SHARE_DECK)
        text = Path(deck).read_text().replace("steps: 6}", "steps: 6, overrides: {data.image_size: 200, "
                                              "run.global_batch: 64, model.width: 1.0}}")
        Path(deck).write_text(text)
        return deck

    def test_a_task_that_does_not_fit_anywhere_fails_alone(self):
        code, _, err = run(2, "share", self.write_large(), memory_mib=250)
        self.assertEqual(code, 3, err)
        self.assertRegex(err, "task vision does not fit on 1 rank: ")
        self.assertRegex(err, "task vision failed: this run would need")
        self.assertRegex(err, "llm is complete")

    def large_mib(self, deck):
        """What write_large() needs on one rank, gaps among it."""
        _, _, err = run(2, "share", deck, memory_mib=250)
        needed = float(re.search(r"does not fit on 1 rank: this run would need ([0-9.]+) GB", err)[1])
        return needed * 1e9 / 2**20

    def test_what_fits_only_without_gaps_is_not_tried(self):
        deck = self.write_large()
        _, _, err = run(1, "share", deck, memory_mib=int(self.large_mib(deck) * 0.8))
        found = re.search(r"need ([\d.]+) GB per rank.*gaps between blocks ([\d.]+) MB, loader ([\d.]+) MB, "
                          r"checkpoint copies ([\d.]+) MB", err)
        needed, gaps, loader, copies = map(float, found.groups())
        needed *= 1000
        memory = int((needed - loader - copies - gaps / 2) * 1e6 / 2**20)
        code, _, err = run(1, "share", deck, "run.resume=never", memory_mib=memory)
        self.assertEqual(code, 3, err)
        self.assertRegex(err, "task vision failed: this run would need .* gaps between blocks ")
        self.expect(0, run(1, "run", self.path("image.yaml"), "run.steps=2", "data.image_size=200",
                           "run.global_batch=64", "model.width=1.0", memory_mib=memory), "little GPU memory is left")

    def test_a_task_gets_the_ranks_on_which_it_fits(self):
        deck = self.write_large()
        memory = int(self.large_mib(deck) * 0.8)
        self.expect(0, run(2, "share", deck, "run.resume=never", memory_mib=memory),
                    "task vision does not fit on 1 rank: ", "vision is complete", "llm is complete")
        self.assertEqual({ranks for _, ranks in self.ranks_of_task("vision")}, {2})


if __name__ == "__main__":
    main()
