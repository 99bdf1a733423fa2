#include "nn/language/LlamaConfig.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/HubCache.hpp"
#include "base/Text.hpp"
#include "config/Words.hpp"
#include "io/Bytes.hpp"
#include "nn/language/ConfigKeys.hpp"
#include "nn/language/ConfigReading.hpp"

namespace multicard {
namespace {

using nlohmann::json;

constexpr std::uintmax_t kLargestFile = 16 << 20;

/// By the words of `model_type`.
constexpr Word<LlamaArchitecture> kModelTypes[] = {{"llama", LlamaArchitecture::llama},
                                                   {"mistral", LlamaArchitecture::mistral},
                                                   {"qwen2", LlamaArchitecture::qwen2},
                                                   {"qwen3", LlamaArchitecture::qwen3}};
constexpr Word<LlamaArchitecture> kClasses[] = {{"LlamaForCausalLM", LlamaArchitecture::llama},
                                                {"MistralForCausalLM", LlamaArchitecture::mistral},
                                                {"Qwen2ForCausalLM", LlamaArchitecture::qwen2},
                                                {"Qwen3ForCausalLM", LlamaArchitecture::qwen3}};

/// Of a class by its name, or of the class of the same network without an output layer, "LlamaModel" for example.
std::optional<LlamaArchitecture> architecture_of(std::string name) {
  constexpr std::string_view kWithoutHead = "Model";
  if (name.ends_with(kWithoutHead)) name.replace(name.size() - kWithoutHead.size(), kWithoutHead.size(), "ForCausalLM");
  return value_of<LlamaArchitecture>(name, kClasses);
}

void read_architecture(const ConfigReader& keys, LlamaConfig& config) {
  const std::string supported = join(texts_of<LlamaArchitecture>(kClasses), ", ") + " are supported";
  const json* listed = keys.find("architectures");
  if (listed && (!listed->is_array() || listed->size() != 1 || !listed->front().is_string()))
    keys.refuse("architectures", "it is not a list of one name; " + supported);
  const std::string type = keys.text("model_type", "");
  if (!listed && type.empty()) keys.refuse("architectures", "it is missing");
  const std::optional<LlamaArchitecture> known =
      listed ? architecture_of(listed->front().get<std::string>()) : value_of<LlamaArchitecture>(type, kModelTypes);
  // transformers goes by model_type, others by the class: gemma with the class of Llama is not a Llama.
  if (known && listed && !type.empty() && value_of<LlamaArchitecture>(type, kModelTypes) != known)
    keys.refuse("model_type", ConfigReader::shown(type) + " is not the network that architectures names");
  if (known) {
    config.architecture = *known;
    return;
  }
  if (listed) keys.refuse("architectures", ConfigReader::shown(listed->front()) + " is another network; " + supported);
  keys.refuse("model_type", ConfigReader::shown(type) + " is another network; " + supported);
}

/// What transformers takes when a file leaves it out.
/// @{
constexpr std::int64_t kQwen3HeadDim = 128;

std::int64_t usual_kv_heads(const ConfigReader& keys, const LlamaConfig& config) {
  if (keys.holds("num_key_value_heads")) return config.num_heads;  // null
  switch (config.architecture) {
    case LlamaArchitecture::mistral:
      return 8;
    case LlamaArchitecture::qwen2:
    case LlamaArchitecture::qwen3:
      return 32;
    case LlamaArchitecture::llama:
      break;
  }
  return config.num_heads;
}

std::int64_t usual_positions(LlamaArchitecture architecture) {
  switch (architecture) {
    case LlamaArchitecture::mistral:
      return 131072;
    case LlamaArchitecture::qwen2:
    case LlamaArchitecture::qwen3:
      return 32768;
    case LlamaArchitecture::llama:
      break;
  }
  return 2048;
}
/// @}

// Qwen3's files may leave out head_dim and mean 128, whatever hidden_size / num_attention_heads is.
void read_sizes(const ConfigReader& keys, LlamaConfig& config) {
  config.vocabulary_size = keys.whole("vocab_size", {});
  config.hidden_size = keys.whole("hidden_size", {}, 1, 1 << 20);
  config.intermediate_size = keys.whole("intermediate_size", {}, 1, 1 << 20);
  config.num_layers = keys.whole("num_hidden_layers", {}, 1, 4096);
  config.num_heads = keys.whole("num_attention_heads", {}, 1, 4096);
  config.num_kv_heads = keys.whole("num_key_value_heads", usual_kv_heads(keys, config), 1, 4096);
  if (config.num_heads % config.num_kv_heads != 0)
    keys.refuse("num_key_value_heads", std::to_string(config.num_heads) + " heads cannot share " +
                                           std::to_string(config.num_kv_heads) + " evenly");
  const bool is_qwen3 = config.architecture == LlamaArchitecture::qwen3;
  if (!keys.find("head_dim") && !is_qwen3 && config.hidden_size % config.num_heads != 0)
    keys.refuse("num_attention_heads", std::to_string(config.num_heads) + " heads do not divide hidden_size " +
                                           std::to_string(config.hidden_size) + " and there is no head_dim");
  config.head_dim = keys.whole("head_dim", is_qwen3 ? kQwen3HeadDim : config.hidden_size / config.num_heads, 1, 4096);
  if (config.head_dim < 2 || config.head_dim % 2 != 0)
    keys.refuse("head_dim", std::to_string(config.head_dim) + " is odd: rotary positions turn pairs of values");
  config.max_positions = keys.whole("max_position_embeddings", usual_positions(config.architecture));
}

/// Which of the layers have a window. \throws DataError for a list of other types or of another length
std::vector<bool> windowed_layers(const ConfigReader& keys, const json& types, std::int64_t num_layers) {
  if (!types.is_array() || static_cast<std::int64_t>(types.size()) != num_layers)
    keys.refuse("layer_types", "it is not a list of one type for each layer");
  std::vector<bool> windowed;
  for (const json& type : types) {
    const bool is_full = type == "full_attention" || type == "attention";  // the latter in older files
    if (!is_full && type != "sliding_attention")
      keys.refuse("layer_types",
                  "it holds " + ConfigReader::shown(type) + "; full_attention and sliding_attention are known");
    windowed.push_back(!is_full);
  }
  return windowed;
}

/// Tokens that a layer with a window sees; 0: all.
std::int64_t window_of(const ConfigReader& keys, const LlamaConfig& config) {
  const bool is_mistral = config.architecture == LlamaArchitecture::mistral;
  // A Mistral file that leaves the key out means 4096; one that holds null means none.
  const bool is_null = keys.find("sliding_window") == nullptr && keys.holds("sliding_window");
  if (is_null || (!is_mistral && !keys.truth("use_sliding_window", false))) return 0;
  return keys.whole("sliding_window", 4096, 1, std::numeric_limits<std::int64_t>::max() / 2);
}

// Three conventions: Llama has no window, Mistral one in all layers; Qwen has one only with use_sliding_window, in the
// layers that layer_types names or, in older files, from max_window_layers on (the first ones see everything).
void read_windows(const ConfigReader& keys, LlamaConfig& config) {
  const json* types = keys.find("layer_types");
  std::vector<bool> windowed;
  if (types) windowed = windowed_layers(keys, *types, config.num_layers);
  const auto all_are = [&](bool wanted) {
    return std::all_of(windowed.begin(), windowed.end(), [&](bool is_windowed) { return is_windowed == wanted; });
  };
  const bool is_llama = config.architecture == LlamaArchitecture::llama;
  const bool is_mistral = config.architecture == LlamaArchitecture::mistral;
  if (is_llama && keys.whole("sliding_window", config.max_positions, 1) < config.max_positions)
    keys.refuse("sliding_window", "LlamaForCausalLM has none", "Set it to null.");
  const std::int64_t window = is_llama ? 0 : window_of(keys, config);
  if (window == 0 && !all_are(false)) keys.refuse("layer_types", "it names sliding_attention, and there is no window");
  if (window == 0) return;
  if (is_mistral && types && !all_are(true))
    keys.refuse("layer_types", "the window of MistralForCausalLM is that of all layers",
                "Set sliding_window to null for full attention in all of them, or remove layer_types.");
  const std::int64_t first = is_mistral ? 0 : keys.whole("max_window_layers", 28, 0, ConfigReader::kLargestSize);
  for (std::int64_t layer = 0; layer < config.num_layers; ++layer) {
    const bool has_one = types ? windowed[static_cast<std::size_t>(layer)] : layer >= first;
    config.windows.push_back(has_one ? window : 0);
  }
}

/// Which biases and norms there are.
/// Qwen2 has biases of queries, keys and values without any key that says so; attention_bias of Llama and Qwen3 also
/// means the output's.
void read_parts(const ConfigReader& keys, LlamaConfig& config) {
  const bool is_llama = config.architecture == LlamaArchitecture::llama;
  const bool is_qwen3 = config.architecture == LlamaArchitecture::qwen3;
  config.has_output_bias = (is_llama || is_qwen3) && keys.truth("attention_bias", false);
  config.has_qkv_bias = config.has_output_bias || config.architecture == LlamaArchitecture::qwen2;
  config.has_mlp_bias = is_llama && keys.truth("mlp_bias", false);
  config.has_head_norms = is_qwen3;
}

void read_activation(const ConfigReader& keys) {
  const std::string activation = keys.text("hidden_act", "silu");
  if (activation != "silu" && activation != "swish") keys.refuse("hidden_act", "\"" + activation + "\" is not silu");
}

/// A probability.
double dropout_of_attention(const ConfigReader& keys) {
  const json* value = keys.find("attention_dropout");
  if (!value) return 0;
  const double dropout = value->is_number() ? value->get<double>() : -1;
  if (!(dropout >= 0 && dropout < 1))
    keys.refuse("attention_dropout", "it is " + ConfigReader::shown(*value) + ", not a number from 0 to below 1");
  return dropout;
}

std::optional<at::ScalarType> dtype_of(const ConfigReader& keys) {
  const std::string key = keys.find("dtype") ? "dtype" : "torch_dtype";
  const std::string name = keys.text(key, "");
  if (name.empty()) return std::nullopt;
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16") return at::kBFloat16;
  if (name == "float16") return at::kHalf;
  if (name == "float64") return at::kDouble;
  keys.refuse(key, "\"" + name + "\" is not one of float32, bfloat16, float16 and float64");
}

json parse_object(const std::string& text, const std::string& origin) {
  return parse_json_object<json>(text, origin + " cannot be used");
}

std::string read_small_file(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::file_size(path, error) > kLargestFile && !error)
    throw DataError(path.string() + " cannot be used", "it is too large for a configuration file");
  return read_file(path.string());
}

}  // namespace

std::string name_of(LlamaArchitecture architecture) {
  return std::string(word_of<LlamaArchitecture>(architecture, kClasses));
}

std::string model_type_of(LlamaArchitecture architecture) {
  return std::string(word_of<LlamaArchitecture>(architecture, kModelTypes));
}

LlamaConfig LlamaConfig::parse(const std::string& json_text, const std::string& origin) {
  const json object = parse_object(json_text, origin);
  const ConfigReader keys(object, origin);
  LlamaConfig config;
  read_architecture(keys, config);
  read_activation(keys);
  config.attention_dropout = dropout_of_attention(keys);
  read_sizes(keys, config);
  read_rope(keys, config);
  read_windows(keys, config);
  config.norm_epsilon = keys.positive("rms_norm_eps", 1e-6);
  config.initializer_range = keys.positive("initializer_range", 0.02);
  config.has_tied_embeddings = keys.truth("tie_word_embeddings", false);
  read_parts(keys, config);
  config.weights_dtype = dtype_of(keys);
  read_quantisation(keys, config);
  const std::vector<std::int64_t> bos = keys.tokens("bos_token_id");
  if (!bos.empty()) config.bos = bos.front();
  config.eos = keys.tokens("eos_token_id");
  add_remarks(keys, config_format(config.architecture), config.remarks);
  return config;
}

LlamaConfig LlamaConfig::read(const std::string& folder) {
  const std::filesystem::path path(folder), generation = path / "generation_config.json";
  if (!std::filesystem::exists(path / "config.json"))
    throw DataError((path / "config.json").string() + " cannot be read", "there is no such file",
                    suggest_fetching(folder, "Check model.path."));
  LlamaConfig config = parse(read_small_file(path / "config.json"), (path / "config.json").string());
  if (!std::filesystem::exists(generation)) return config;
  const json object = parse_object(read_small_file(generation), generation.string());
  read_generation(ConfigReader(object, generation.string()), config);
  return config;
}

// A block: queries and output with query_size columns each, keys and values with kv_size, and three matrices of the
// MLP. The embedding is a look-up and does not count, lm_head does.
std::int64_t LlamaConfig::num_matmul_parameters() const {
  const std::int64_t attention = hidden_size * (2 * query_size() + 2 * kv_size());
  return num_layers * (attention + 3 * hidden_size * intermediate_size) + vocabulary_size * hidden_size;
}

std::int64_t LlamaConfig::num_parameters() const {
  const std::int64_t biases = (has_qkv_bias ? query_size() + 2 * kv_size() : 0) + (has_output_bias ? hidden_size : 0) +
                              (has_mlp_bias ? 2 * intermediate_size + hidden_size : 0);
  return num_matmul_parameters() + (has_tied_embeddings ? 0 : vocabulary_size * hidden_size) +
         num_layers * (2 * hidden_size + (has_head_norms ? 2 * head_dim : 0) + biases) + hidden_size;
}

}  // namespace multicard
