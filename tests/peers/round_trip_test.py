#!/usr/bin/env python3
"""Adapters and models written here are read by PEFT and transformers, and the other way round: the same tensors, and
logits within 1e-3.

usage: round_trip_test.py CLASS   runs one test class; MULTICARD_BIN is the folder of the programs, MULTICARD_PEER_MODEL
the program peer_model.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model, get_peft_model_state_dict
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

MULTICARD = str(Path(os.environ["MULTICARD_BIN"]) / "multicard")
PEER_MODEL = os.environ["MULTICARD_PEER_MODEL"]
BASE = Path(__file__).resolve().parents[1] / "data" / "models" / "tinystories-656K"
TOLERANCE = 1e-3

torch.set_num_threads(1)
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


class RoundTrip(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="multicard-peers-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.tokens = torch.randint(3, 250, (2, 24), generator=torch.Generator().manual_seed(5))
        save_file({"tokens": self.tokens}, self.folder / "tokens.safetensors")

    def call(self, *words):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def own_logits(self, model, adapter="-"):
        out = self.folder / "logits.safetensors"
        self.call(PEER_MODEL, "logits", model, adapter, self.folder / "tokens.safetensors", out)
        return load_file(out)["logits"]

    def peer_logits(self, model):
        with torch.no_grad():
            return model.eval()(self.tokens).logits.float()

    def load_peer(self, folder, dtype=torch.float32):
        """Loads by transformers, which must find exactly the tensors that it expects."""
        model, found = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, output_loading_info=True)
        for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"):
            self.assertFalse(found.get(kind), f"{kind}: {found.get(kind)}")
        return model

    def assert_close(self, one, other, tolerance=TOLERANCE):
        self.assertEqual(one.shape, other.shape)
        self.assertGreater(one.abs().max().item(), 0.5)  # there is something to compare
        self.assertLess((one - other).abs().max().item(), tolerance)

    def checkpoint(self, files, method="lora"):
        """The folder of a checkpoint with these files, as a run leaves it."""
        folder = self.folder / "step_00000001"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        recorded = {}
        for source in files:
            shutil.copy(source, folder)
            content = source.read_bytes()
            if source.suffix == ".safetensors":
                recorded[source.name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        base_hash = hashlib.sha256((BASE / "model.safetensors").read_bytes()).hexdigest()
        deck = f"task: llm\nmodel: {{path: \"{BASE}\", dtype: fp32}}\nmethod: {{name: {method}}}\n"
        state = {"format": "multicard-checkpoint", "schema_version": 1, "step": 1, "samples_seen": 1, "global_batch": 1,
                 "extra": {}, "text": {"base_model_sha256": base_hash}, "files": recorded, "deck": deck}
        (folder / "trainer.json").write_text(json.dumps(state))
        (folder / "COMPLETE").touch()
        return folder


class Exports(RoundTrip):
    """What multicard writes."""

    def random_adapter(self, *settings):
        folder = self.folder / "adapter"
        self.call(PEER_MODEL, "adapter", BASE, folder, *settings)
        return folder

    def export_adapter(self, adapter, *options):
        out = self.folder / "export"
        shutil.rmtree(out, ignore_errors=True)
        checkpoint = self.checkpoint([adapter / "adapter_model.safetensors", adapter / "adapter_config.json"])
        self.call(MULTICARD, "export", checkpoint, out, *options)
        return out

    def patterned_adapter(self):
        folder = self.folder / "adapter"
        folder.mkdir()
        (folder / "adapter_config.json").write_text(json.dumps({
            "peft_type": "LORA", "r": 4, "lora_alpha": 6, "task_type": "CAUSAL_LM",
            "target_modules": ["q_proj", "k_proj", "down_proj"],
            "rank_pattern": {r"^model\.layers\.0\.self_attn\..*": 3, "(k|v)_proj": 2},
            "alpha_pattern": {"mlp.down_proj": 9}, "modules_to_save": ["lm_head", "embed_tokens", "norm"],
            "base_model_name_or_path": str(BASE)}))
        self.call(PEER_MODEL, "configured", BASE, folder)
        return folder

    def check_adapter(self, *settings):
        self.check_written(self.random_adapter(*settings))

    def check_written(self, adapter):
        export = self.export_adapter(adapter)
        own = self.own_logits(BASE, adapter)
        model = PeftModel.from_pretrained(self.load_peer(BASE), export)
        written = load_file(adapter / "adapter_model.safetensors")
        loaded = get_peft_model_state_dict(model)
        self.assertEqual(sorted(loaded), sorted(written))
        for name, tensor in written.items():
            self.assertTrue(torch.equal(loaded[name], tensor), name)
        self.assert_close(self.peer_logits(model), own)
        self.assertGreater((own - self.own_logits(BASE)).abs().max().item(), 0.1)  # the adapter does something

    def test_an_adapter_of_all_linear_layers(self):
        self.check_adapter(8, 16, "plain", "all-linear")

    def test_a_rank_stabilised_adapter_of_some_layers(self):
        self.check_adapter(3, 2.5, "rslora", "q_proj", "mlp.down_proj")

    def test_an_adapter_of_layers_that_match_a_pattern(self):
        self.check_adapter(4, 8, "plain", r".*layers\.1\..*(k|v)_proj")

    def test_an_adapter_with_patterns_and_saved_modules(self):
        self.check_written(self.patterned_adapter())

    def test_a_merged_model_that_was_tied(self):
        adapter = self.patterned_adapter()
        merged = self.export_adapter(adapter, "--merge", "original")
        own = self.own_logits(BASE, adapter)
        model = self.load_peer(merged)
        self.assertFalse(model.config.tie_word_embeddings)
        self.assert_close(self.peer_logits(model), own)
        self.assert_close(self.own_logits(merged), own)

    def test_an_adapter_trained_in_bfloat16(self):
        trained = self.folder / "trained"
        trained.mkdir()
        oracle = BASE.parents[1] / "oracles" / "lora"
        shutil.copy(oracle / "adapter_final_bfloat16.safetensors", trained / "adapter_model.safetensors")
        shutil.copy(oracle / "adapter_init" / "adapter_config.json", trained)
        export = self.export_adapter(trained)
        written = load_file(export / "adapter_model.safetensors")
        for name, tensor in load_file(trained / "adapter_model.safetensors").items():
            self.assertEqual(written[name].dtype, torch.bfloat16, name)
            self.assertTrue(torch.equal(written[name], tensor), name)
        model = PeftModel.from_pretrained(self.load_peer(BASE), export)
        self.assert_close(self.peer_logits(model), self.own_logits(BASE, export))

    def test_a_merged_model(self):
        adapter = self.random_adapter(8, 16, "plain", "all-linear")
        merged = self.export_adapter(adapter, "--merge", "original")
        own = self.own_logits(BASE, adapter)
        self.assert_close(self.peer_logits(self.load_peer(merged)), own)
        self.assert_close(self.own_logits(merged), own)
        text = "Once upon a time, there was a dog."
        self.assertEqual(AutoTokenizer.from_pretrained(merged)(text).input_ids,
                         AutoTokenizer.from_pretrained(BASE)(text).input_ids)
        peer = PeftModel.from_pretrained(self.load_peer(BASE), adapter).merge_and_unload().state_dict()
        for name, tensor in load_file(merged / "model.safetensors").items():
            self.assertLess((peer[name] - tensor).abs().max().item(), 1e-6, name)

    def test_a_merged_model_of_another_dtype(self):
        adapter = self.random_adapter(8, 16, "plain", "all-linear")
        exact = load_file(self.export_adapter(adapter, "--merge", "original") / "model.safetensors")
        rounded = self.export_adapter(adapter, "--merge", "original", "--dtype", "bf16")
        for name, tensor in load_file(rounded / "model.safetensors").items():
            self.assertTrue(torch.equal(tensor, exact[name].bfloat16()), name)
        self.assertEqual(self.load_peer(rounded, "auto").dtype, torch.bfloat16)

    def test_a_fully_tuned_model(self):
        tuned = self.load_peer(BASE)
        with torch.no_grad():
            for parameter in tuned.parameters():
                parameter.add_(0.01 * torch.randn(parameter.shape))
        tuned.save_pretrained(self.folder / "tuned")
        files = [self.folder / "tuned" / "model.safetensors", *BASE.glob("*.json")]
        out = self.folder / "export"
        self.call(MULTICARD, "export", self.checkpoint(files, "full"), out)
        self.assert_close(self.peer_logits(self.load_peer(out)), self.peer_logits(tuned), 1e-6)

    def test_a_model_in_shards(self):
        shards = self.folder / "shards"
        self.call(PEER_MODEL, "shards", BASE, shards, 600_000)
        self.assertGreater(len(list(shards.glob("model-*-of-*.safetensors"))), 3)
        self.assertTrue(torch.equal(self.own_logits(shards), self.own_logits(BASE)))
        self.assert_close(self.peer_logits(self.load_peer(shards)), self.own_logits(BASE))


class Imports(RoundTrip):
    """What multicard reads."""

    def test_an_adapter_that_peft_wrote(self):
        for settings in ({"r": 4, "lora_alpha": 12, "target_modules": "all-linear"},
                         {"r": 6, "lora_alpha": 3, "use_rslora": True, "target_modules": ["q_proj", "up_proj"]},
                         {"r": 2, "target_modules": r".*\.1\.self_attn\.(q|o)_proj"},
                         {"r": 4, "target_modules": ["q_proj", "v_proj"], "use_rslora": True,
                          "rank_pattern": {"v_proj": 9, "0.self_attn.q_proj": 1}, "alpha_pattern": {"q_proj": 5},
                          "modules_to_save": ["lm_head", "norm"]}):
            with self.subTest(settings):
                model = get_peft_model(self.load_peer(BASE), LoraConfig(task_type="CAUSAL_LM", **settings))
                with torch.no_grad():
                    for name, parameter in model.named_parameters():
                        if "lora_B" in name:
                            parameter.normal_(0, 0.1)
                        elif "modules_to_save" in name:
                            parameter.add_(0.1 * torch.randn(parameter.shape))
                model.save_pretrained(self.folder / "adapter")
                self.assert_close(self.own_logits(BASE, self.folder / "adapter"), self.peer_logits(model))

    def check_model(self, config, **options):
        torch.manual_seed(1)
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() == 1:  # norms and biases start as ones and zeros
                    parameter.add_(0.1 * torch.randn(parameter.shape))
        folder = self.folder / "model"
        model.save_pretrained(folder, **options)
        self.assert_close(self.own_logits(folder), self.peer_logits(model))
        return folder

    SIZES = {"vocab_size": 256, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3,
             "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128,
             "initializer_range": 0.2}

    def test_a_llama_3_in_shards(self):
        scaling = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
                   "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
        config = transformers.LlamaConfig(**self.SIZES, rope_parameters=scaling, head_dim=32)
        folder = self.check_model(config, max_shard_size="100KB")
        self.assertTrue((folder / "model.safetensors.index.json").exists())

    def test_a_tied_llama(self):
        self.check_model(transformers.LlamaConfig(**self.SIZES, tie_word_embeddings=True))

    def test_a_mistral_with_a_sliding_window(self):
        self.check_model(transformers.MistralConfig(**self.SIZES, sliding_window=7))

    def test_a_qwen2(self):
        self.check_model(transformers.Qwen2Config(**self.SIZES))

    def test_a_qwen3(self):
        self.check_model(transformers.Qwen3Config(**self.SIZES, head_dim=24, tie_word_embeddings=True))
        self.check_model(transformers.Qwen3Config(**self.SIZES, head_dim=32, attention_bias=True))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[1:2], verbosity=2, warnings="ignore")
