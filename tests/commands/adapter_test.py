#!/usr/bin/env python3
"""Adapters of unequal ranks with modules that are trained whole, through every command. Standard library only.

usage: adapter_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import sys
import unittest
from pathlib import Path

from command_test import run
from export_test import tensors
from tuning_case import MODEL, TuningCase

METHOD = ("method.rank_pattern={down_proj: 2, 'layers\\.1\\..*': 6}", "method.alpha_pattern={q_proj: 12}",
          "method.modules_to_save=[embed_tokens, lm_head]", "method.targets=[q_proj, v_proj, down_proj]")


class Adapter(TuningCase):
    def trained(self, *words):
        """A checkpoint."""
        self.expect(0, run(2, "run", self.deck, *METHOD, *words))
        return self.checkpoint()

    def answer(self, *words):
        code, out, err = run(1, "generate", *words, "--greedy", "--json", "--max-new", "12", "Name a colour.")
        self.assertEqual(code, 0, err)
        return json.loads(out)["ids"]

    def test_the_files_are_those_of_peft(self):
        checkpoint = self.trained()
        self.expect(0, run(1, "export", checkpoint, self.path("adapter")),
                    r"rank 4, scaling 2 \(others by rank_pattern or alpha_pattern\), 2 modules stored whole")
        config = json.loads(Path(self.path("adapter/adapter_config.json")).read_text())
        self.assertEqual(config["rank_pattern"], {"down_proj": 2, "layers\\.1\\..*": 6})
        self.assertEqual(list(config["rank_pattern"]), ["down_proj", "layers\\.1\\..*"])
        self.assertEqual(config["alpha_pattern"], {"q_proj": 12})
        self.assertEqual(config["modules_to_save"], ["embed_tokens", "lm_head"])
        found = tensors(self.path("adapter/adapter_model.safetensors"))
        self.assertEqual(found["base_model.model.lm_head.weight"][1], [2048, 128])
        self.assertEqual(found["base_model.model.model.embed_tokens.weight"][1], [2048, 128])
        ranks = [found["base_model.model.model.layers.%d.%s.lora_A.weight" % place][1][0]
                 for place in ((0, "mlp.down_proj"), (0, "self_attn.q_proj"), (1, "self_attn.v_proj"),
                               (1, "mlp.down_proj"))]
        self.assertEqual(ranks, [2, 4, 6, 2])
        self.assertEqual(len(found), 2 + 2 * 6)

    def test_every_command_computes_the_same(self):
        checkpoint = self.trained()
        self.expect(0, run(1, "export", checkpoint, self.path("adapter")))
        self.expect(0, run(1, "export", checkpoint, self.path("merged"), "--merge", "original"),
                    "21 tensors")
        config = json.loads(Path(self.path("merged/config.json")).read_text())
        self.assertIs(config["tie_word_embeddings"], False)
        self.assertIn("lm_head.weight", tensors(self.path("merged/model.safetensors")))
        expected = self.answer(checkpoint)
        self.assertEqual(self.answer(MODEL, "--adapter", self.path("adapter")), expected)
        self.assertEqual(self.answer(self.path("merged")), expected)
        self.assertNotEqual(self.answer(MODEL, "--template", "alpaca"), expected)
        recorded = self.metric("eval_loss")[-1]
        self.assertAlmostEqual(self.score(checkpoint), recorded, delta=1e-5)
        other = ("run.output=" + self.path("other"),)
        self.assertAlmostEqual(self.score(self.deck, "model.path=" + self.path("merged"), "method={name: full}",
                                          *other), recorded, delta=1e-4)
        self.assertAlmostEqual(self.score(self.deck, "method={name: lora}", "model.adapter=" + self.path("adapter"),
                                          *other), recorded, delta=1e-5)

    def test_a_run_goes_on_and_another_starts_from_its_adapter(self):
        checkpoint = self.trained("run.output=" + self.path("whole"))
        self.expect(0, run(2, "run", self.deck, *METHOD, "run.steps=4"))
        self.trained()
        self.assertEqual(self.losses(), self.losses("whole"))
        again = ("run", self.deck, *METHOD[1:])
        self.expect(2, run(1, *again), r"method\.rank_pattern has changed from \{")
        self.expect(0, run(1, "export", checkpoint, self.path("adapter")))
        start = ("run", self.deck, "method={name: lora}", "model.adapter=" + self.path("adapter"), "run.steps=1",
                 "run.output=" + self.path("next"))
        self.expect(0, run(1, *start))
        self.assertLess(self.losses("next")[0], self.losses("whole")[0])
        self.expect(2, run(1, *start, "method.modules_to_save=[norm]", "run.resume=never"),
                    "method.modules_to_save is norm, but the adapter's is embed_tokens, lm_head")

    def test_settings_that_are_empty_are_none_to_a_run_that_goes_on(self):
        empty = ("method.modules_to_save=[]", "method.rank_pattern={}", "method.alpha_pattern={}")
        for steps, words in ((2, empty), (4, ()), (6, empty)):
            self.expect(0, run(1, "run", self.deck, "run.steps=%d" % steps, "run.checkpoint_every=2", *words),
                        *(["resuming from"] if steps > 2 else []))

    def test_quantised_bases_have_them_too(self):
        checkpoint = self.trained("method.name=qlora")
        for merge in ("original", "dequantised"):
            self.expect(0, run(1, "export", checkpoint, self.path(merge), "--merge", merge))
        self.assertEqual(self.answer(self.path("dequantised")), self.answer(checkpoint))
        out = "run.output=" + self.path("qat")
        self.expect(0, run(1, "run", self.deck, *METHOD, "method.name=lora-qat", "method.group_size=32", out))
        self.expect(0, run(1, "export", self.checkpoint("qat"), self.path("int4"), "--merge", "original", "--int4"))
        found = tensors(self.path("int4/model.safetensors"))
        self.assertEqual(found["model.layers.0.mlp.down_proj.weight"][0], "I8")
        self.assertEqual(found["lm_head.weight"][0], "F32")
        self.assertTrue(self.answer(self.path("int4")))

    def test_typing_errors_are_named(self):
        for word, message in (
                ("method.rank_pattern={x_proj: 2}", r"method\.rank_pattern: \"x_proj\" matches no layer"),
                ("method.rank_pattern={q_proj: 0}", r"method\.rank_pattern\.q_proj: expected 1 to 65536, got 0"),
                ("method.alpha_pattern={'(': 2}", r"method\.alpha_pattern: the regular expression \( cannot be used"),
                ("method.targets=['(q_proj']", r"method\.targets: the regular expression \(q_proj cannot be used"),
                ("method.modules_to_save=[q_proj]", "names linear layers of the blocks"),
                ("method.modules_to_save=[score]", "is no module that can be trained whole"),
                ("method={name: full, rank_pattern: {q_proj: 2}}", r"method\.rank_pattern: belongs to adapters")):
            self.expect(2, run(1, "run", self.deck, word), message)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
