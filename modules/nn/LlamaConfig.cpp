#include "nn/LlamaConfig.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>

#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "config/Words.hpp"
#include "io/Bytes.hpp"
#include "io/JsonReader.hpp"

namespace multicard {
namespace {

using nlohmann::json;

constexpr std::uintmax_t kLargestFile = 16 << 20;
constexpr std::int64_t kLargestSize = std::int64_t{1} << 24;  // products of two sizes and the layers fit int64

/// The reader of a configuration file with what its sizes have in common.
class Keys : public JsonReader {
 public:
  using JsonReader::JsonReader;
  Keys(const JsonReader& reader) : JsonReader(reader) {}

  std::int64_t whole(const std::string& key, std::optional<std::int64_t> otherwise, std::int64_t least = 1,
                     std::int64_t most = kLargestSize) const {
    const json* value = find(key);
    if (!value && !otherwise) refuse(key, "it is missing, and the model's shape needs it");
    return value ? checked(key, *value, least, most) : *otherwise;
  }
};

/// By the words of `model_type`.
constexpr Word<LlamaArchitecture> kModelTypes[] = {{"llama", LlamaArchitecture::llama},
                                                   {"mistral", LlamaArchitecture::mistral},
                                                   {"qwen2", LlamaArchitecture::qwen2},
                                                   {"qwen3", LlamaArchitecture::qwen3}};
constexpr Word<LlamaArchitecture> kClasses[] = {{"LlamaForCausalLM", LlamaArchitecture::llama},
                                                {"MistralForCausalLM", LlamaArchitecture::mistral},
                                                {"Qwen2ForCausalLM", LlamaArchitecture::qwen2},
                                                {"Qwen3ForCausalLM", LlamaArchitecture::qwen3}};

void read_architecture(const Keys& keys, LlamaConfig& config) {
  const std::string supported = join(texts_of<LlamaArchitecture>(kClasses), ", ") + " are supported";
  const json* listed = keys.find("architectures");
  if (listed && (!listed->is_array() || listed->size() != 1 || !listed->front().is_string()))
    keys.refuse("architectures", "it is not a list of one name; " + supported);
  const std::string type = keys.text("model_type", "");
  if (!listed && type.empty()) keys.refuse("architectures", "it is missing");
  const std::optional<LlamaArchitecture> known =
      listed ? value_of<LlamaArchitecture>(listed->front().get<std::string>(), kClasses)
             : value_of<LlamaArchitecture>(type, kModelTypes);
  if (known) {
    config.architecture = *known;
    return;
  }
  if (listed) keys.refuse("architectures", Keys::shown(listed->front()) + " is another network; " + supported);
  keys.refuse("model_type", Keys::shown(type) + " is another network; " + supported);
}

/// What transformers takes when a file leaves it out.
/// @{
constexpr std::int64_t kQwen3HeadDim = 128;

std::int64_t usual_kv_heads(const LlamaConfig& config) {
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
/// @}

void read_sizes(const Keys& keys, LlamaConfig& config) {
  config.vocabulary_size = keys.whole("vocab_size", {});
  config.hidden_size = keys.whole("hidden_size", {}, 1, 1 << 20);
  config.intermediate_size = keys.whole("intermediate_size", {}, 1, 1 << 20);
  config.num_layers = keys.whole("num_hidden_layers", {}, 1, 4096);
  config.num_heads = keys.whole("num_attention_heads", {}, 1, 4096);
  config.num_kv_heads = keys.whole("num_key_value_heads", usual_kv_heads(config), 1, 4096);
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
  config.max_positions = keys.whole("max_position_embeddings", 2048);
}

void read_rope_scaling(const Keys& keys, LlamaConfig& config) {
  const std::string key = keys.find("rope_type") || !keys.find("type") ? "rope_type" : "type";
  const std::string type = keys.text(key, "default");
  RopeScaling& scaling = config.rope_scaling;
  if (type == "default") return;
  scaling.factor = keys.positive("factor", 0);
  if (scaling.factor == 0 && (type == "linear" || type == "llama3")) keys.refuse("factor", "it is missing");
  if (type == "linear") {
    scaling.kind = RopeScaling::Kind::linear;
  } else if (type == "llama3") {
    scaling.kind = RopeScaling::Kind::llama3;
    scaling.low_frequency_factor = keys.positive("low_freq_factor", 1.0);
    scaling.high_frequency_factor = keys.positive("high_freq_factor", 4.0);
    if (scaling.high_frequency_factor <= scaling.low_frequency_factor)
      keys.refuse("high_freq_factor", "it is not above low_freq_factor");
    scaling.original_max_positions =
        keys.whole("original_max_position_embeddings", {}, 1, std::numeric_limits<std::int32_t>::max());
  } else {
    keys.refuse(key, "\"" + type + "\" is not supported; default, linear and llama3 are");
  }
}

// transformers 5 writes rope_parameters, which holds rope_theta too; earlier ones rope_theta and rope_scaling.
void read_rope(const Keys& keys, LlamaConfig& config) {
  if (keys.positive("partial_rotary_factor", 1.0) != 1.0) keys.refuse("partial_rotary_factor", "only 1 is supported");
  const double top = keys.positive("rope_theta", 10000.0);
  const std::optional<Keys> parameters = keys.object("rope_parameters"), scaling = keys.object("rope_scaling");
  const Keys& holder = parameters ? *parameters : keys;
  config.rope_theta = holder.positive("rope_theta", scaling ? scaling->positive("rope_theta", top) : top);
  if (holder.positive("partial_rotary_factor", 1.0) != 1.0)
    holder.refuse("partial_rotary_factor", "only 1 is supported");
  if (parameters)
    read_rope_scaling(*parameters, config);
  else if (scaling)
    read_rope_scaling(*scaling, config);
}

void read_windows(const Keys& keys, LlamaConfig& config) {
  if (config.architecture == LlamaArchitecture::llama) return;
  const bool is_qwen = config.architecture != LlamaArchitecture::mistral;
  // A Mistral file that leaves the key out means 4096; one that holds null means none.
  const bool is_null = keys.find("sliding_window") == nullptr && keys.holds("sliding_window");
  if (is_null || (is_qwen && !keys.truth("use_sliding_window", false))) return;
  const std::int64_t window = keys.whole("sliding_window", 4096, 1, std::numeric_limits<std::int64_t>::max() / 2);
  const std::int64_t first = is_qwen ? keys.whole("max_window_layers", 28, 0, kLargestSize) : 0;
  config.windows.assign(static_cast<std::size_t>(config.num_layers), 0);
  for (std::int64_t layer = first; layer < config.num_layers; ++layer)
    config.windows[static_cast<std::size_t>(layer)] = window;
  const json* types = keys.find("layer_types");
  if (!types) return;
  if (!types->is_array() || types->size() != config.windows.size())
    keys.refuse("layer_types", "it is not a list of one type for each layer");
  for (std::size_t layer = 0; layer < config.windows.size(); ++layer) {
    const json& type = (*types)[layer];
    if (type != "full_attention" && type != "sliding_attention")
      keys.refuse("layer_types", "it holds " + Keys::shown(type) + "; full_attention and sliding_attention are known");
    config.windows[layer] = type == "full_attention" ? 0 : window;
  }
}

/// Which biases and norms there are.
void read_parts(const Keys& keys, LlamaConfig& config) {
  const bool is_llama = config.architecture == LlamaArchitecture::llama;
  const bool is_qwen3 = config.architecture == LlamaArchitecture::qwen3;
  config.has_output_bias = (is_llama || is_qwen3) && keys.truth("attention_bias", false);
  config.has_qkv_bias = config.has_output_bias || config.architecture == LlamaArchitecture::qwen2;
  config.has_mlp_bias = is_llama && keys.truth("mlp_bias", false);
  config.has_head_norms = is_qwen3;
}

void refuse_unsupported(const Keys& keys) {
  const std::string activation = keys.text("hidden_act", "silu");
  if (activation != "silu" && activation != "swish") keys.refuse("hidden_act", "\"" + activation + "\" is not silu");
  const json* dropout = keys.find("attention_dropout");
  if (dropout && *dropout != 0)
    keys.refuse("attention_dropout", "dropout of attention is not supported", "Set it to 0.0.");
}

/// How the linear layers are quantised, where they are.
void read_quantisation(const Keys& keys, LlamaConfig& config) {
  const json* quantisation = keys.find("quantization_config");
  if (!quantisation) return;
  const auto value = [&](const char* key) {
    return quantisation->is_object() && quantisation->contains(key) ? (*quantisation)[key] : json();
  };
  if (value("quant_method") == kInt4Method) {
    config.int4_group_size = keys.checked("quantization_config.group_size", value("group_size"), 2, kLargestSize);
    return;
  }
  if (value("quant_method") != "bitsandbytes" || value("load_in_4bit") != true || value("bnb_4bit_quant_type") != "nf4")
    keys.refuse("quantization_config", "of quantised weights only bitsandbytes' NF4 and 8da4w are supported",
                "Use the folder of the whole model.");
  config.is_stored_in_nf4 = true;
}

std::optional<at::ScalarType> dtype_of(const Keys& keys) {
  const std::string key = keys.find("dtype") ? "dtype" : "torch_dtype";
  const std::string name = keys.text(key, "");
  if (name.empty()) return std::nullopt;
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16") return at::kBFloat16;
  if (name == "float16") return at::kHalf;
  if (name == "float64") return at::kDouble;
  keys.refuse(key, "\"" + name + "\" is not one of float32, bfloat16, float16 and float64");
}

/// The numbers of a key that holds one or a list.
std::vector<std::int64_t> token_list(const Keys& keys, const std::string& key) {
  std::vector<std::int64_t> tokens;
  const json* value = keys.find(key);
  if (!value) return tokens;
  const auto add = [&](const json& token) { tokens.push_back(keys.checked(key, token, 0, kLargestSize)); };
  if (!value->is_array()) {
    if (*value != -1) add(*value);  // -1 stands for none in some files
    return tokens;
  }
  std::for_each(value->begin(), value->end(), add);
  return tokens;
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

LlamaConfig LlamaConfig::parse(const std::string& json_text, const std::string& origin) {
  const json object = parse_object(json_text, origin);
  const Keys keys(object, origin);
  LlamaConfig config;
  read_architecture(keys, config);
  refuse_unsupported(keys);
  read_sizes(keys, config);
  read_rope(keys, config);
  read_windows(keys, config);
  config.norm_epsilon = keys.positive("rms_norm_eps", 1e-6);
  config.initializer_range = keys.positive("initializer_range", 0.02);
  config.has_tied_embeddings = keys.truth("tie_word_embeddings", false);
  read_parts(keys, config);
  config.weights_dtype = dtype_of(keys);
  read_quantisation(keys, config);
  const std::vector<std::int64_t> bos = token_list(keys, "bos_token_id");
  if (!bos.empty()) config.bos = bos.front();
  config.eos = token_list(keys, "eos_token_id");
  return config;
}

LlamaConfig LlamaConfig::read(const std::string& folder) {
  const std::filesystem::path path(folder), generation = path / "generation_config.json";
  LlamaConfig config = parse(read_small_file(path / "config.json"), (path / "config.json").string());
  if (!std::filesystem::exists(generation)) return config;
  const json object = parse_object(read_small_file(generation), generation.string());
  for (const std::int64_t token : token_list(Keys(object, generation.string()), "eos_token_id"))
    if (std::find(config.eos.begin(), config.eos.end(), token) == config.eos.end()) config.eos.push_back(token);
  return config;
}

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
