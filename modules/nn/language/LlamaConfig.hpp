#pragma once
/// \file The shape of a Llama-type language model, as its Hugging Face config.json states it.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

namespace multicard {

/// How rotary frequencies are stretched beyond the context a model was first trained with.
struct RopeScaling {
  enum class Kind { none, linear, llama3, yarn };
  Kind kind = Kind::none;
  double factor = 1.0;
  double low_frequency_factor = 1.0, high_frequency_factor = 4.0;  ///< llama3 only
  std::int64_t original_max_positions = 8192;                      ///< llama3 and yarn
  /// \name yarn only
  /// @{
  double beta_fast = 32.0, beta_slow = 1.0;  ///< turns within the original positions, between which the ramp is
  bool truncates = true;                     ///< the ramp begins and ends at whole numbers
  double attention_factor = 1.0;             ///< of cos and sin
  /// @}
};

/// quantization_config.quant_method of a config.json whose model `export --int4` has written (docs/methods.md).
inline constexpr const char* kInt4Method = "8da4w";

/// The networks that LlamaConfig describes: they differ by its values alone.
enum class LlamaArchitecture { llama, mistral, qwen2, qwen3 };
/// The name of its class in transformers: "LlamaForCausalLM".
std::string name_of(LlamaArchitecture architecture);
/// Its name in config.json: "llama".
std::string model_type_of(LlamaArchitecture architecture);

struct LlamaConfig {
  LlamaArchitecture architecture = LlamaArchitecture::llama;
  std::int64_t vocabulary_size = 0, hidden_size = 0, intermediate_size = 0;
  std::int64_t num_layers = 0, num_heads = 0;
  std::int64_t num_kv_heads = 0;  ///< each serves num_heads / num_kv_heads heads
  std::int64_t head_dim = 0;      ///< even
  std::int64_t max_positions = 2048;
  double norm_epsilon = 1e-6;
  double rope_theta = 10000.0;
  RopeScaling rope_scaling;
  bool has_tied_embeddings = false;  ///< lm_head is the embedding
  bool has_qkv_bias = false, has_output_bias = false, has_mlp_bias = false;
  bool has_head_norms = false;      ///< of the queries and keys of each head (HeadNorms)
  double initializer_range = 0.02;  ///< deviation of fresh weights
  double attention_dropout = 0;     ///< in training, which does not have it
  /// Tokens of the past, itself included, that a token of the layer sees; 0: all. Empty or one entry a layer.
  std::vector<std::int64_t> windows;
  std::optional<std::int64_t> bos;
  std::vector<std::int64_t> eos;                ///< each of them ends a text
  std::optional<at::ScalarType> weights_dtype;  ///< the type the file says its weights have
  bool is_stored_in_nf4 = false;                ///< the linear layers' weights, by bitsandbytes
  std::vector<std::string> skipped_modules;     ///< llm_int8_skip_modules: names of modules that are not
  std::set<std::string> whole_layers;           ///< linear layers that are not, by network_config_of()
  std::int64_t int4_group_size = 0;             ///< of the linear layers' weights in int4 (8da4w); 0: they are not
  std::vector<std::string> remarks;             ///< what of the file is left out, for people
  std::vector<std::string> generation_remarks;  ///< the same of generation_config.json

  /// Of a model folder: config.json, with the end tokens of generation_config.json where there is one. DataError naming
  /// file and key for what is missing, makes no sense or is not supported.
  static LlamaConfig read(const std::string& folder);
  /// Of the text of a config.json; `origin` names it in errors.
  static LlamaConfig parse(const std::string& json_text, const std::string& origin);

  std::int64_t query_size() const { return num_heads * head_dim; }
  std::int64_t kv_size() const { return num_kv_heads * head_dim; }
  std::int64_t window(std::int64_t layer) const {
    return windows.empty() ? 0 : windows[static_cast<std::size_t>(layer)];
  }
  /// Values of all weights; a tied lm_head counts once.
  std::int64_t num_parameters() const;
  /// Values that each token is multiplied with: all linear layers and lm_head, tied or not (N in the FLOP counts 6N and
  /// 4N of a trained and of a frozen model).
  std::int64_t num_matmul_parameters() const;
};

}  // namespace multicard
