"""Model folders and adapters from the cases of the kind `models`."""

import json
import shutil

import bitsandbytes.functional
import torch
import transformers
from peft import LoraConfig, get_peft_model
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

FAMILIES = {"llama": transformers.LlamaConfig, "mistral": transformers.MistralConfig,
            "qwen2": transformers.Qwen2Config, "qwen3": transformers.Qwen3Config}
# Scalings of rotary positions, as they stand in config.json with rope_theta.
SCALINGS = [{"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
             "original_max_position_embeddings": 16},
            {"rope_type": "linear", "factor": 2.0}, {"rope_type": "dynamic", "factor": 2.0},
            {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32},
            {"type": "linear", "factor": 4.0}, {"rope_type": "default"}]
# Keys that other configurations have; none of them is what the folder was saved with.
KEYS = [["attention_dropout", 0.1], ["hidden_act", "gelu"], ["use_cache", False], ["pretraining_tp", 2],
        ["sliding_window", 3], ["attention_bias", True], ["mlp_bias", True], ["partial_rotary_factor", 0.5],
        ["logit_scale", 2.0], ["unheard_of", 1], ["initializer_range", 0.5], ["rms_norm_eps", 1e-3],
        ["rope_theta", 500.0], ["tie_word_embeddings", True], ["head_dim", 8], ["num_key_value_heads", None],
        ["use_sliding_window", True], ["bos_token_id", [1, 2]], ["transformers_version", "9"]]
LAYERS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def draw_config(draw):
    heads = draw.choice([1, 2, 4])
    config = {"vocab_size": draw.choice([32, 67]), "hidden_size": 16 * heads,
              "intermediate_size": draw.choice([24, 40]),
              "num_hidden_layers": draw.choice([1, 2]), "num_attention_heads": heads,
              "num_key_value_heads": draw.choice([one for one in (1, 2, 4) if heads % one == 0]),
              "max_position_embeddings": 64, "tie_word_embeddings": draw.random() < 0.4,
              "rms_norm_eps": draw.choice([1e-6, 1e-5]), "initializer_range": 0.3}
    if draw.random() < 0.3:
        config["head_dim"] = draw.choice([8, 16, 24])
    return config


def draw_adapter(draw):
    targets = draw.choice(["all-linear", draw.sample(LAYERS, draw.randint(1, 4)), r".*layers\.0\..*(q|v)_proj"])
    adapter = {"r": draw.choice([1, 2, 5]), "lora_alpha": draw.choice([1, 4, 7]), "target_modules": targets}
    options = [["use_rslora", True], ["rank_pattern", {"q_proj": 3, "0.self_attn.v_proj": 1}], ["use_dora", True],
               ["alpha_pattern", {"q_proj": 9, "(k|v)_proj": 2}], ["modules_to_save", ["lm_head"]], ["bias", "all"],
               ["modules_to_save", ["embed_tokens", "norm"]], ["layers_to_transform", [0]], ["lora_dropout", 0.1],
               ["exclude_modules", ["q_proj"]], ["lora_bias", True], ["bias", "lora_only"],
               ["init_lora_weights", False]]
    adapter |= dict(draw.sample(options, draw.choice([0, 0, 1, 2])))
    return adapter


def draw_model(draw):
    """A case."""
    case = {"family": draw.choice(list(FAMILIES)), "config": draw_config(draw), "seed": draw.randrange(1000),
            "dtype": draw.choice(["float32", "float32", "bfloat16", "float16"])}
    if draw.random() < 0.3:
        case["shard"] = draw.choice(["4KB", "16KB"])
    if draw.random() < 0.3:
        case["scaling"] = draw.choice(SCALINGS)
    if draw.random() < 0.3:
        case["keys"] = [draw.choice(KEYS) for _ in range(draw.randint(1, 2))]
    if draw.random() < 0.4:
        case["adapter"] = draw_adapter(draw)
    if draw.random() < 0.15:
        # bitsandbytes' CPU code reads rows of whole blocks alone.
        case["config"] |= {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "head_dim": 16}
        case["dtype"] = "float32"  # it would round what 4 bits give to another type
        case["nf4"] = {"bnb_4bit_use_double_quant": draw.random() < 0.5,
                       "bnb_4bit_quant_storage": draw.choice(["uint8", "bfloat16", "float32"])}
    return case


def randomised(model, seed):
    """Norms and biases start as ones and zeros, and so do the second matrices of adapters."""
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1 and parameter.is_floating_point():
                parameter.add_(0.1 * torch.randn(parameter.shape))
            elif "lora_B" in name or "modules_to_save" in name:
                parameter.normal_(0, 0.2)
    return model


def edit_config(folder, case):
    """Changes keys of config.json after the model was saved."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    if "scaling" in case:
        config["rope_theta"] = (config.pop("rope_parameters", None) or {}).get("rope_theta", 10000.0)
        config["rope_scaling"] = case["scaling"]
    for key, value in case.get("keys", []):
        config[key] = value
    path.write_text(json.dumps(config))


def make_model(case, folder):
    """Writes the model folder, and for a case in 4 bits a second one with the weights that these give."""
    torch.manual_seed(case.get("seed", 0))
    config = FAMILIES[case.get("family", "llama")](**case.get("config", {}))
    dtype = getattr(torch, case.get("dtype", "float32"))
    model = randomised(AutoModelForCausalLM.from_config(config, dtype=torch.float32), case.get("seed", 0)).to(dtype)
    options = {"max_shard_size": case["shard"]} if "shard" in case else {}
    model.save_pretrained(folder, **options)
    edit_config(folder, case)
    if "nf4" in case:
        dense = folder.with_name("dense")
        shutil.copytree(folder, dense)
        quantise(model, case["nf4"], folder, dense)


def quantise(model, options, folder, dense):
    """As transformers saves a model in 4 bits: all linear layers but lm_head. (Its own way takes minutes on a CPU.)"""
    packed, plain = dict(model.state_dict()), dict(model.state_dict())
    storage = getattr(torch, options.get("bnb_4bit_quant_storage", "uint8"))
    for name in [name for name in plain if name.endswith("_proj.weight")]:
        codes, state = bitsandbytes.functional.quantize_4bit(
            plain[name], compress_statistics=options.get("bnb_4bit_use_double_quant", False), quant_type="nf4",
            quant_storage=storage)
        plain[name] = bitsandbytes.functional.dequantize_4bit(codes, state).to(torch.float32)
        packed[name] = codes
        packed |= {f"{name}.{key}": value for key, value in state.as_dict(packed=True).items()}
    for path, tensors in ((folder, packed), (dense, plain)):
        for file in path.glob("model*"):
            file.unlink()
        tied = model.config.tie_word_embeddings
        save_file({name: tensor.contiguous() for name, tensor in tensors.items() if not (tied and "lm_head" in name)},
                  path / "model.safetensors", {"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    described = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", **options).to_dict()
    (folder / "config.json").write_text(json.dumps({**config, "quantization_config": described}))


def make_adapter(case, model_folder, folder):
    """Writes the adapter's folder."""
    model = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32)
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", **case["adapter"]))
    randomised(model, case.get("seed", 0)).save_pretrained(folder)
