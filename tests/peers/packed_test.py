#!/usr/bin/env python3
"""Models that are exported in 4 bits compute the same in torchao's int4 layers and in transformers with bitsandbytes.

usage: packed_test.py CLASS   as round_trip_test.py; bitsandbytes and torchao must be there too (scripts/setup_peers.sh
--methods)
"""

import json
import sys
import unittest

import torch
import transformers
from round_trip_test import BASE, MULTICARD, RoundTrip
from safetensors.torch import load_file
from torchao.quantization.linear_quant_modules import Int8DynActInt4WeightLinear


class PackedExports(RoundTrip):
    def export(self, method, *options):
        checkpoint = self.checkpoint([BASE / "model.safetensors", *BASE.glob("*.json")], method)
        out = self.folder / "export"
        self.call(MULTICARD, "export", checkpoint, out, *options)
        return out

    def torchao_model(self, folder):
        """The model of that folder with torchao's layers, whose state is exactly that of the file."""
        configuration = json.loads((folder / "config.json").read_text())
        group_size = configuration["quantization_config"]["group_size"]
        self.assertEqual(configuration.pop("quantization_config")["quant_method"], "8da4w")
        model = transformers.AutoModelForCausalLM.from_config(
            transformers.AutoConfig.for_model(**configuration), dtype=torch.float32)
        layers = [name for name, module in model.model.layers.named_modules() if isinstance(module, torch.nn.Linear)]
        for name in layers:
            plain = model.model.layers.get_submodule(name)
            parent, _, own_name = name.rpartition(".")
            packed = Int8DynActInt4WeightLinear(plain.in_features, plain.out_features, plain.bias is not None,
                                                groupsize=group_size)
            setattr(model.model.layers.get_submodule(parent), own_name, packed)
        found = model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
        self.assertEqual(found.unexpected_keys, [])
        self.assertLessEqual(set(found.missing_keys), {"lm_head.weight"})  # tied
        return model, len(layers)

    def test_int4_in_torchao(self):
        folder = self.export("qat, group_size: 32", "--int4")
        model, num_layers = self.torchao_model(folder)
        self.assertEqual(num_layers, 14)
        own, plain = self.own_logits(folder), self.own_logits(BASE)
        # The last bit of an activation decides on its code, so a few logits differ by a code's worth.
        difference = (self.peer_logits(model) - own).abs()
        self.assertLess(difference.median().item(), 1e-4)
        self.assertLess(difference.max().item(), 0.1 * (own - plain).abs().max().item())

    def test_nf4_in_bitsandbytes(self):
        folder = self.export("full", "--nf4")
        own = self.own_logits(folder)
        # Its layers multiply in bfloat16 on some CPUs, so its values of the weights are multiplied here.
        self.assert_close(self.peer_logits(self.load_peer(folder).dequantize(torch.float32)), own)
        self.assertGreater((own - self.own_logits(BASE)).abs().max().item(), 0.1)  # 4 bits do something


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[1:2], verbosity=2, warnings="ignore")
