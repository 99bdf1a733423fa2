#!/usr/bin/env python3
"""Tuning for int4: run, stop, resume, eval, export, and the converted model in use. Standard library only.

usage: qat_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import os
import struct
import sys
import unittest
from pathlib import Path

from command_test import CommandTest, run

SOURCE = Path(os.environ["MULTICARD_SOURCE"])
MODEL = SOURCE / "tests/data/models/tinystories-656K"
DECK = """\
task: llm
model: {path: MODEL, dtype: fp32}
method: {name: qat, group_size: 32}
data: {train: "SCRATCH/text-train*.h5", test: "SCRATCH/text-test*.h5", max_length: 160}
optimizer: {name: adamw, learning_rate: 0.001, clip_norm: 1.0}
run: {output: SCRATCH/out, steps: 8, global_batch: 4, seed: 3, checkpoint_every: 4, log_every: 1, deterministic: true}
evaluate: {every_steps: 8, every_epochs: 0}
"""
LAYER = "model.layers.0.self_attn.q_proj"


def tensors(folder):
    """Dtype, shape and bytes of the tensors of a model folder."""
    data = (Path(folder) / "model.safetensors").read_bytes()
    start = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:start])
    return {name: (entry["dtype"], entry["shape"],
                   data[start + entry["data_offsets"][0]:start + entry["data_offsets"][1]])
            for name, entry in header.items() if name != "__metadata__"}


def values(tensor):
    letter = {"F32": "f", "I8": "b"}[tensor[0]]
    return [value[0] for value in struct.iter_unpack("<" + letter, tensor[2])]


class Qat(CommandTest):
    def setUp(self):
        super().setUp()
        Path(self.deck).write_text(DECK.replace("SCRATCH", self.scratch).replace("MODEL", str(MODEL)))
        records = json.loads((SOURCE / "inputs/text/instruction-data.json").read_text())[:60]
        Path(self.path("records.json")).write_text(json.dumps(records))
        self.expect(0, run(1, "prepare", "text", "--type", "alpaca", "--tokenizer", str(MODEL), "--in",
                           self.path("records.json"), "--split", "0.2", "-o", self.path("text")))

    def checkpoint(self, output="out", step=8):
        return self.path("%s/checkpoints/step_%08d" % (output, step))

    def losses(self, output="out"):
        return [float(x) for x in self.dataset(self.path(output + "/results.h5"), "/runs/main/metrics/train_loss")]

    def score(self, *words):
        code, out, err = run(1, "eval", *words, "--json")
        self.assertEqual(code, 0, err)
        return json.loads(out)["loss"]

    def answer(self, model):
        return self.expect(0, run(1, "generate", model, "--raw", "--greedy", "--max-new", "20", "--dtype", "fp32",
                                  "Once upon a time"))[1]

    def test_a_run_that_is_resumed_equals_one_that_was_never_stopped(self):
        late = "method.fake_quant_step=6"  # after the stop
        self.expect(0, run(2, "run", self.deck, late, "run.output=" + self.path("whole")), "method +qat")
        self.expect(0, run(2, "run", self.deck, late, "run.steps=4"))
        self.expect(0, run(2, "run", self.deck, late))
        self.assertEqual(self.losses(), self.losses("whole"))
        self.expect(0, run(2, "run", self.deck, "method={name: full}", "run.output=" + self.path("full")))
        self.assertEqual(self.losses()[:6], self.losses("full")[:6])
        self.assertNotEqual(self.losses()[6], self.losses("full")[6])

    def test_the_converted_model_computes_as_it_was_tuned(self):
        self.expect(0, run(2, "run", self.deck))
        recorded = float(self.dataset(self.path("out/results.h5"), "/runs/main/metrics/eval_loss")[-1])
        int4, plain = self.path("int4"), self.path("plain")
        self.expect(0, run(1, "export", self.checkpoint(), int4, "--int4"), "int4 in int8 and F32")
        self.expect(0, run(1, "export", self.checkpoint(), plain))

        self.assertAlmostEqual(self.score(self.checkpoint()), recorded, delta=1e-5 * recorded)
        of_folder = (self.deck, "run.output=" + self.path("none"), "method={name: full}")
        self.assertAlmostEqual(self.score(*of_folder, "model.path=" + int4), recorded, delta=1e-3 * recorded)
        self.assertGreater(abs(self.score(*of_folder, "model.path=" + plain) - recorded), 1e-5 * recorded)
        self.assertEqual(self.answer(int4), self.answer(self.checkpoint()))

        trained, stored = tensors(plain), tensors(int4)
        self.assertEqual([stored[LAYER + part][0] for part in (".weight", ".scales", ".zeros")], ["I8", "F32", "F32"])
        self.assertEqual(stored[LAYER + ".scales"][1], [128, 4])
        codes, scales = values(stored[LAYER + ".weight"]), values(stored[LAYER + ".scales"])
        self.assertEqual((min(codes), max(codes)), (-8, 7))
        for i, weight in enumerate(values(trained[LAYER + ".weight"])):
            scale = scales[i // 32]
            self.assertLessEqual(abs(weight - codes[i] * scale), 0.50001 * scale)
        config = json.loads((Path(int4) / "config.json").read_text())
        self.assertEqual(config["quantization_config"], {"quant_method": "8da4w", "group_size": 32})

    def test_a_converted_model_is_not_tuned(self):
        self.expect(0, run(1, "run", self.deck, "run.steps=1"))
        self.expect(0, run(1, "export", self.checkpoint(step=1), self.path("int4"), "--int4"))
        again = ("run", self.deck, "model.path=" + self.path("int4"), "run.output=" + self.path("again"))
        self.expect(2, run(2, *again), "cannot be tuned.*converted to int4")
        self.expect(2, run(1, *again, "method={name: lora, rank: 4}"), "cannot start from.*converted to int4")

    def test_adapters_are_converted_with_their_base(self):
        self.expect(0, run(2, "run", self.deck, "method={name: lora-qat, group_size: 32, rank: 4, alpha: 8}",
                           "optimizer.learning_rate=0.02"), "method +lora-qat rank 4")
        recorded = float(self.dataset(self.path("out/results.h5"), "/runs/main/metrics/eval_loss")[-1])
        self.assertAlmostEqual(self.score(self.checkpoint()), recorded, delta=1e-5 * recorded)
        int4 = self.path("int4")
        self.expect(2, run(1, "export", self.checkpoint(), int4, "--int4"), "Add --merge original")
        self.expect(0, run(1, "export", self.checkpoint(), int4, "--int4", "--merge", "original"))
        merged = self.score(self.deck, "run.output=" + self.path("none"), "method={name: full}", "model.path=" + int4)
        self.assertLess(abs(merged - recorded), 0.1 * recorded)
        self.expect(0, run(1, "export", self.checkpoint(), self.path("adapter")), "PEFT adapter")

    def test_what_does_not_fit_is_refused(self):
        self.expect(2, run(2, "run", self.deck, "method.group_size=256"),
                    r"q_proj has 128 inputs.*one of 2, 4, 8, 16, 32, 64, 128\.")
        self.expect(2, run(1, "run", self.deck, "method={name: lora, group_size: 32}"), "belongs to qat and lora-qat")
        self.expect(0, run(1, "run", self.deck, "method={name: full}", "run.steps=1"))
        self.expect(2, run(1, "export", self.checkpoint(step=1), self.path("x"), "--int4"), "not tuned for int4")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
