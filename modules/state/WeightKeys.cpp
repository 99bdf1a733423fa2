#include "state/WeightKeys.hpp"

#include <algorithm>

namespace multicard {

namespace {

using enum KeyUse;

constexpr const char* kNorm = "[hidden_size]";
constexpr const char* kHeadNorm = "[head_dim], of Qwen3";
constexpr const char* kBias = "where the class and config.json have one";
constexpr const char* kNf4 = "of a layer in NF4";
constexpr const char* kInt4 = "of a layer in int4, as multicard export --int4 writes it";
constexpr const char* kGptq = "weights packed by GPTQ or AWQ";

constexpr ForeignKey kWeights[] = {
    {"model.embed_tokens.weight", used, "[vocab_size, hidden_size]"},
    {"lm_head.weight", used, "[vocab_size, hidden_size]; with tied embeddings it may be missing, or the same matrix"},
    {"model.norm.weight", used, kNorm},
    {"model.layers.N.input_layernorm.weight", used, kNorm},
    {"model.layers.N.post_attention_layernorm.weight", used, kNorm},
    {"model.layers.N.self_attn.q_norm.weight", used, kHeadNorm},
    {"model.layers.N.self_attn.k_norm.weight", used, kHeadNorm},
    {"model.layers.N.self_attn.q_proj.weight", used, "[out, in], as those that follow"},
    {"model.layers.N.self_attn.k_proj.weight", used, "with fewer heads where config.json says so"},
    {"model.layers.N.self_attn.v_proj.weight", used, "with fewer heads where config.json says so"},
    {"model.layers.N.self_attn.o_proj.weight", used, "the attention's output"},
    {"model.layers.N.mlp.gate_proj.weight", used, "of SwiGLU"},
    {"model.layers.N.mlp.up_proj.weight", used, "of SwiGLU"},
    {"model.layers.N.mlp.down_proj.weight", used, "of SwiGLU"},
    {"model.layers.N.self_attn.q_proj.bias", used, kBias},
    {"model.layers.N.self_attn.k_proj.bias", used, kBias},
    {"model.layers.N.self_attn.v_proj.bias", used, kBias},
    {"model.layers.N.self_attn.o_proj.bias", used, kBias},
    {"model.layers.N.mlp.gate_proj.bias", used, kBias},
    {"model.layers.N.mlp.up_proj.bias", used, kBias},
    {"model.layers.N.mlp.down_proj.bias", used, kBias},
    {"*.weight.quant_state.bitsandbytes__nf4", used, kNf4},
    {"*.weight.absmax", used, kNf4},
    {"*.weight.quant_map", used, kNf4},
    {"*.weight.nested_absmax", used, kNf4},
    {"*.weight.nested_quant_map", used, kNf4},
    {"*_proj.scales", used, kInt4},
    {"*_proj.zeros", used, kInt4},
    {"*.weight.quant_state.bitsandbytes__fp4", unsupported, "weights packed in FP4"},
    {"*.SCB", unsupported, "weights packed in 8 bits"},
    {"*.weight_format", unsupported, "weights packed in 8 bits"},
    {"*.qweight", unsupported, kGptq},
    {"*.qzeros", unsupported, kGptq},
    {"*.g_idx", unsupported, kGptq},
    {"*.weight_packed", unsupported, "weights packed by compressed-tensors"},
    {"*.weight_scale", unsupported, "weights packed in 8 bits"},
    {"*.weight_scale_inv", unsupported, "weights packed in 8 bits"},
    {"*.input_scale", unsupported, "weights packed in 8 bits"},
    {"*_proj.biases", unsupported, "weights packed by MLX"},
    {"*.lora_A.weight", unsupported, "an adapter; it is given as model.adapter"},
    {"*.lora_B.weight", unsupported, "an adapter; it is given as model.adapter"},
    {"*rotary_emb.inv_freq", harmless, "computed from config.json"},
};

constexpr ForeignKey kIndex[] = {
    {"weight_map", used, "the file of each tensor; where it and the files differ, they are refused"},
    {"metadata", harmless, "sizes"},
};

/// The name with N for each number between dots.
std::string without_numbers(const std::string& name) {
  std::string out;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    const std::string part = name.substr(at, end - at);
    const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    out += is_number ? "N" : part;
    if (end < name.size()) out += '.';
    at = end + 1;
  }
  return out;
}

}  // namespace

std::vector<ForeignFormat> weight_formats() {
  return {{"weights", "Tensors of a model's safetensors files", {kWeights}},
          {"index", "model.safetensors.index.json", {kIndex}}};
}

std::string with_base_prefix(const std::string& name) {
  for (const char* part : {"embed_tokens.", "layers.", "norm."})
    if (name.starts_with(part)) return "model." + name;
  return name;
}

const ForeignKey* known_tensor(const std::string& name) {
  const std::string pattern = without_numbers(name);
  // The first that fits decides: whole names stand before the endings that would also match them.
  for (const ForeignKey& key : kWeights) {
    const std::string_view known(key.name);
    if (known.starts_with('*') ? pattern.ends_with(known.substr(1)) : pattern == known) return &key;
  }
  return nullptr;
}

}  // namespace multicard
