#!/usr/bin/env python3
"""Host and device do not run into each other: checkpoints, evaluation and a stop in the middle of asynchronous work.

usage: race_test.py NAME   runs one test class; see fake_run.py
"""

import shutil
import signal
from pathlib import Path

from fake_run import FakeGpuTest, launch, main, wait_for
from tuning_case import deeper_model


class Races(FakeGpuTest):
    """Asynchronous streams that are slower than the host: pinned memory must be left alone until it is copied, and
    read only when what was copied into it has arrived (until then it holds the byte 0xfe)."""

    def check_run(self, ranks, deck, *overrides):
        output = self.path("out")
        process = launch(ranks, "run", deck, "run.checkpoint_every=3", "run.steps=100000", "run.log_every=1",
                         "run.json_lines=true", *overrides, is_async=True, kernel_us=10)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: len(list(Path(output).glob("checkpoints/step_*/COMPLETE"))) >= 2)
        process.send_signal(signal.SIGUSR1)
        _, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 75, err)
        self.assertNotIn("fake GPU", err)
        self.assertNotIn("fake NCCL", err)
        self.check_files(output)
        shutil.rmtree(output)

    def check_files(self, output):
        checked = 0
        for path in Path(output).glob("checkpoints/step_*/*.safetensors"):
            self.assertNotIn(b"\xfe" * 16, path.read_bytes(), path.name)
            checked += 1
        self.assertGreater(checked, 0)
        for name in ("train_loss", "eval_loss"):
            for value in self.dataset(output + "/results.h5", "/runs/main/metrics/" + name):
                self.assertLess(abs(float(value)), 1e30, name)

    def test_images(self):
        for ranks, pipeline in ((1, "host"), (1, "device"), (2, "host")):
            with self.subTest(ranks=ranks, pipeline=pipeline):
                self.check_run(ranks, self.image, "evaluate.every_steps=4", "data.pipeline=" + pipeline,
                               "run.ema_decay=0.9")

    def test_language(self):
        for ranks in (1, 2):
            with self.subTest(ranks=ranks):
                self.check_run(ranks, self.language, "evaluate.every_steps=4", "method={name: full}")

    def test_split_weights(self):
        model = self.path("deep")
        deeper_model(model, 5)
        for method, shard, ranks in (("full", "shard: full", 2), ("full", "shard: optimizer", 2),
                                     ("qlora, rank: 4", "shard: full", 2),
                                     ("full", "shard: hybrid, shard_group: 2", 4)):
            with self.subTest(method=method, shard=shard):
                self.check_run(ranks, self.language, "evaluate.every_steps=4", "model.path=" + model,
                               "method={name: %s}" % method, "parallel={%s}" % shard, "precision=bf16")
        self.check_run(2, self.image, "evaluate.every_steps=4", "parallel.shard=full", "parallel.sync_batch_norm=true")


if __name__ == "__main__":
    main()
