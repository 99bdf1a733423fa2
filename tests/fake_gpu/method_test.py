#!/usr/bin/env python3
"""What tuning methods cost at the shape of Llama-3-8B against LoRA on the same tokens, and what QLoRA takes of memory.

usage: method_test.py NAME   runs one test class; see fake_run.py
"""

import json
import shutil
import tempfile
import unittest
from pathlib import Path

from decks import Inputs
from fake_run import main
from method_counts import COLUMNS, Step, count

FEW_LAYERS = 4  # every layer launches as much: ratios hold for 32 too, and little is left of what is done once a step
HELD = ("weights", "adapters", "gradients", "optimizer")  # throughout a step


class ShallowInputs(Inputs):
    """The shape of Llama-3-8B with fewer layers."""

    def shape(self, name):
        folder, config = Inputs.shape(name)
        config["num_hidden_layers"] = FEW_LAYERS
        place = self.made("shallow", lambda to: Path(to, "config.json").write_text(json.dumps(config)))
        return place, config


class Methods(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.mkdtemp(prefix="multicard-fake-methods-")
        cls.addClassCleanup(shutil.rmtree, folder, True)
        cls.step = Step(ShallowInputs(folder))
        cls.rows = {name: count(name, cls.step) for name in ("lora", "qlora", "lora-dpo", "lora-dpo, cached")}

    def ratio(self, name, *columns):
        number = [sum(self.rows[one][column] for column in columns) for one in (name, "lora")]
        print("      %s of lora's %s: %.3f times" % (name, " + ".join(columns), number[0] / number[1]))
        return number[0] / number[1]

    def test_every_number_is_there(self):
        for row in self.rows.values():
            self.assertEqual(list(COLUMNS), [column for column in COLUMNS if column in row])
            self.assertGreater(row["kernels"], 0)
            self.assertGreater(row["matrix_products"], 0)
            self.assertGreater(row["peak_bytes"], row["weights_bytes"] + row["adapters_bytes"])
            self.assertGreater(row["all_reduce_bytes"], row["adapters_bytes"] - 1)

    def test_qlora_launches_little_more_than_lora(self):
        # The layers that read the same input are restored whole, by one launch, and have one product.
        self.assertLessEqual(self.ratio("qlora", "kernels", "matrix_products"), 1.09)
        self.assertEqual(self.ratio("qlora", "matrix_products"), 1)

    def test_qlora_holds_one_restored_weight_more_than_lora(self):
        _, config = self.step.inputs.shape("llama3_8b_shape")
        gate_and_up = 2 * 2 * config["hidden_size"] * config["intermediate_size"]
        lora, qlora = (row["peak_bytes"] - sum(row[part + "_bytes"] for part in HELD)
                       for row in (self.rows["lora"], self.rows["qlora"]))
        print("      activations and the like: %.3f GB of lora, %.3f GB of qlora" % (lora / 1e9, qlora / 1e9))
        self.assertLessEqual(qlora, lora + gate_and_up)

    def test_checkpointing_multiplies_no_last_layer_again(self):
        # Forward, again and backward for all linear layers of a block but the last, forward and backward for that one,
        # and for the vocabulary. Adapters add a percent; the first layers need no gradient of their input.
        _, config = self.step.inputs.shape("llama3_8b_shape")
        hidden, inner, heads = (config[key] for key in
                                ("hidden_size", "intermediate_size", "num_attention_heads"))
        kv = hidden // heads * config["num_key_value_heads"]
        block = 3 * (2 * hidden * (hidden + kv) + 2 * hidden * inner) + 2 * hidden * inner
        least = 2 * self.step.tokens * (FEW_LAYERS * block + 2 * config["vocab_size"] * hidden)
        self.assertGreater(self.rows["lora"]["flops"], 0.99 * least)
        self.assertLess(self.rows["lora"]["flops"], 1.03 * least)

    def test_the_reference_of_preferences_is_one_more_forward_pass(self):
        self.assertLessEqual(self.ratio("lora-dpo", "matrix_products"), 1.5)

    def test_a_cached_reference_costs_no_products(self):
        self.assertAlmostEqual(self.ratio("lora-dpo, cached", "matrix_products"), 1, delta=0.005)


if __name__ == "__main__":
    main()
