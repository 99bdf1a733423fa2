"""What tests of tuning a language model start from: a deck, shards of instructions and the numbers of a run."""

import json
import os
from pathlib import Path

from command_test import CommandTest, run

SOURCE = Path(os.environ["MULTICARD_SOURCE"])
MODEL = str(SOURCE / "tests/data/models/tinystories-656K")
DECK = """\
task: llm
model: {path: MODEL, dtype: fp32}
method: {name: lora, rank: 4, alpha: 8}
data: {train: "SCRATCH/text-train*.h5", test: "SCRATCH/text-test*.h5", max_length: 160}
optimizer: {name: adamw, learning_rate: 0.002, clip_norm: 1.0}
run: {output: SCRATCH/out, steps: 8, global_batch: 4, seed: 3, checkpoint_every: 4, log_every: 1, deterministic: true}
evaluate: {every_steps: 8, every_epochs: 0}
"""


class TuningCase(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = MODEL
        self.write_deck()
        self.prepare_text("text", 0, 60)

    def write_deck(self):
        Path(self.deck).write_text(DECK.replace("SCRATCH", self.scratch).replace("MODEL", self.model))

    def prepare_text(self, name, first, end, tokenizer=MODEL, *words):
        """Shards NAME-train and NAME-test of some of the records of instructions."""
        records = json.loads((SOURCE / "inputs/text/instruction-data.json").read_text())[first:end]
        self.copy_shards(name, {name + ".json": json.dumps(records)}, 1, "text", "--type", "alpaca", "--tokenizer",
                         os.path.abspath(tokenizer), "--in", name + ".json", "--split", "0.2", *words)

    def checkpoint(self, output="out", step=8):
        return self.path("%s/checkpoints/step_%08d" % (output, step))

    def metric(self, name, output="out"):
        return [float(x) for x in self.dataset(self.path(output + "/results.h5"), "/runs/main/metrics/" + name)]

    def losses(self, output="out"):
        return self.metric("train_loss", output)

    def score(self, *words):
        code, out, err = run(1, "eval", *words, "--json")
        self.assertEqual(code, 0, err)
        return json.loads(out)["loss"]
