#!/usr/bin/env python3
"""What a share admits to its GPUs fits: random image and text tasks on random ranks, and GPUs of random size. A task
that does not fit is refused before it trains; none runs out of memory.

usage: admission_test.py NAME   runs one test class; MULTICARD_ADMISSIONS is how many sets of ranks that tasks were
                                admitted to are looked at (8; with MULTICARD_TEST_FULL=1 20). See fake_run.py
"""

import json
import os
import random
import re
import shutil
from pathlib import Path

from decks import SMOLLM2, Inputs
from fake_run import FakeGpuTest, main, run

# Found by the prediction, where weights, gradients and optimizer state are allocated, and where a step is measured for
# the prediction: all before the task is admitted.
BEFORE_STEPS = " while the run was set up| while the memory of a step was measured"
TOO_LARGE = "this run would need|the device is out of memory(?:%s)" % BEFORE_STEPS
FULL_FORM = os.environ.get("MULTICARD_TEST_FULL") == "1"
ADMISSIONS = int(os.environ.get("MULTICARD_ADMISSIONS", "20" if FULL_FORM else "8"))
LORA, FULL = "{name: lora, rank: 16, alpha: 32, targets: all-linear}", "{name: full}"


def image_task(dice):
    """The deck, and overrides as YAML."""
    pixels, rows = dice.choice(((32, 256), (64, 128), (96, 96), (128, 64), (224, 24)))
    return "image.yaml", {"model": "{name: %s}" % dice.choice(("mobilenet_v2", "resnet18", "resnet50")),
                          "data.image_size": pixels, "data.layout": dice.choice(("nchw", "nhwc")),
                          "run.global_batch": dice.choice((rows, rows // 2)),
                          "precision": dice.choice(("fp32", "bf16")),
                          "optimizer": "{name: %s, learning_rate: 0.001}" % dice.choice(("sgd", "adamw"))}


def text_task(dice):
    rows = dice.choice((4, 8, 16))
    return "language.yaml", {"method": dice.choice((LORA, FULL)), "run.global_batch": rows,
                             "run.micro_batch": dice.choice((1, 2, rows)),
                             "data.max_length": dice.choice((128, 256, 512)),
                             "model.activation_checkpointing": dice.choice(("true", "false")),
                             "precision": dice.choice(("fp32", "bf16"))}


class Admission(FakeGpuTest):
    def setUp(self):
        super().setUp()
        inputs = Inputs(self.data)
        rows = inputs.ragged_rows(SMOLLM2, 512, 64).split("=")[1]
        text = Path(self.language).read_text().replace("dtype: fp32", "dtype: fp32, random_weights: true")
        text = text.replace(str(Path(self.data, "text-train*.h5")), rows)
        text = text.replace("test: \"%s\", " % Path(self.data, "text-test*.h5"), "")
        self.language = self.write("language.yaml", text)
        self.write("language.yaml", "\n".join("model: {path: %s, dtype: fp32, random_weights: true}" % inputs.smollm2()
                                              if line.startswith("model:") else line for line in text.splitlines()))

    def share(self, dice):
        tasks = []
        for number in range(dice.choice((2, 3))):
            deck, overrides = dice.choice((image_task, text_task))(dice)
            text = ", ".join("%s: %s" % pair for pair in overrides.items())
            tasks.append("  - {name: t%d, deck: %s, steps: %d, overrides: {%s}}"
                         % (number, deck, dice.choice((3, 6, 12)), text))
        return self.write("share.yaml", "tasks:\n%s\npolicy: {interval_s: 0.5, min_gain: 0}\n"
                          "run: {output: SCRATCH/shared, device: cuda}\n" % "\n".join(tasks))

    def test_nothing_that_is_admitted_runs_out_of_memory(self):
        dice = random.Random(20261123)
        admitted = refused = 0
        while admitted < ADMISSIONS:
            deck = self.share(dice)
            memory_mib, ranks = int(600 * 8 ** dice.random()), dice.choice((1, 2, 3))
            shutil.rmtree(self.path("shared"), True)
            code, _, err = run(ranks, "share", deck, memory_mib=memory_mib)
            case = "%s\non %d GPUs of %d MiB:\n%s" % (Path(deck).read_text(), ranks, memory_mib, err)
            self.assertNotRegex(err, "the device is out of memory(?!%s)" % BEFORE_STEPS, case)
            failed = re.findall("task t. failed: (%s)" % TOO_LARGE, err)
            self.assertEqual(code, 3 if failed else 0, case)
            admitted += len(json.loads(Path(self.path("shared/share.json")).read_text())["intervals"])
            refused += len(failed) + err.count("does not fit on ")
        print("      %d sets of ranks admitted, %d refused" % (admitted, refused))
        self.assertGreater(refused, 0, "memory was not scarce")


if __name__ == "__main__":
    main()
