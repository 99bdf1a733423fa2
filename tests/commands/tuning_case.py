"""What tests of tuning a language model start from: a deck, shards of instructions and the numbers of a run."""

import json
import os
import re
import shutil
import struct
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


def deeper_model(folder, num_blocks):
    """A model folder whose blocks are those of MODEL in turn: more of them than a rank has in place at once."""
    shutil.copytree(MODEL, folder)
    config = json.loads(Path(MODEL, "config.json").read_text())
    Path(folder, "config.json").write_text(json.dumps({**config, "num_hidden_layers": num_blocks}))
    content = Path(MODEL, "model.safetensors").read_bytes()
    size = struct.unpack("<Q", content[:8])[0]
    values = content[8 + size:]
    tensors = {}
    for name, tensor in json.loads(content[8:8 + size]).items():
        numbers = re.match(r"(model\.layers\.)(\d+)(.*)", name)
        if not numbers:
            tensors[name] = tensor
            continue
        for block in range(int(numbers[2]), num_blocks, config["num_hidden_layers"]):
            tensors["%s%d%s" % (numbers[1], block, numbers[3])] = tensor
    written, header = b"", {}
    for name, tensor in tensors.items():
        if name == "__metadata__":
            continue
        first, end = tensor["data_offsets"]
        header[name] = {**tensor, "data_offsets": [len(written), len(written) + end - first]}
        written += values[first:end]
    text = json.dumps(header).encode()
    Path(folder, "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + written)


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

    def losses(self, output="out"):
        return self.metric("train_loss", output)

    def score(self, *words):
        code, out, err = run(1, "eval", *words, "--json")
        self.assertEqual(code, 0, err)
        return json.loads(out)["loss"]
