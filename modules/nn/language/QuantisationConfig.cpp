// Packed weights in config.json.

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "nn/language/ConfigKeys.hpp"
#include "nn/language/ConfigReading.hpp"

namespace multicard {

namespace {

using nlohmann::json;
using enum KeyUse;

constexpr const char* kTensorsTell = "the tensors tell";
constexpr const char* kOf8Bits = "of weights in 8 bits";

constexpr ForeignKey kNf4[] = {
    {"quant_method", used, "bitsandbytes"},
    {"load_in_4bit", used, "true alone is supported"},
    {"bnb_4bit_quant_type", used, "nf4 alone is supported"},
    {"llm_int8_skip_modules", used, "layers that are stored whole, where there are no weights to look at"},
    {"load_in_8bit", unsupported, "weights in 8 bits"},
    {"_load_in_8bit", unsupported, "weights in 8 bits"},
    {"_load_in_4bit", harmless, "the same as load_in_4bit"},
    {"bnb_4bit_use_double_quant", harmless, kTensorsTell},
    {"bnb_4bit_quant_storage", harmless, kTensorsTell},
    {"bnb_4bit_compute_dtype", harmless, "the deck's precision takes its place"},
    {"llm_int8_threshold", harmless, kOf8Bits},
    {"llm_int8_has_fp16_weight", harmless, kOf8Bits},
    {"llm_int8_enable_fp32_cpu_offload", harmless, kOf8Bits},
};

constexpr ForeignKey kInt4[] = {
    {"quant_method", used, kInt4Method},
    {"group_size", used, "weights of a row that share a scale"},
};

/// llm_int8_skip_modules
std::vector<std::string> skipped_modules(const ConfigReader& quantisation) {
  const json* skipped = quantisation.find("llm_int8_skip_modules");
  if (!skipped) return {};
  const auto is_text = [](const json& name) { return name.is_string(); };
  if (!skipped->is_array() || !std::all_of(skipped->begin(), skipped->end(), is_text))
    quantisation.refuse("llm_int8_skip_modules", "it is not a list of names");
  return skipped->get<std::vector<std::string>>();
}

}  // namespace

ForeignFormat nf4_format() {
  return {"nf4", "quantization_config of config.json, as bitsandbytes has it", {kNf4}};
}

ForeignFormat int4_format() {
  return {"int4", "quantization_config of config.json, as multicard export --int4 writes it", {kInt4}};
}

void read_quantisation(const ConfigReader& keys, LlamaConfig& config) {
  const std::optional<ConfigReader> found = keys.object("quantization_config");
  if (!found) return;
  const std::string method = found->text("quant_method", "");
  if (method == kInt4Method) {
    config.int4_group_size = found->whole("group_size", {}, 2);
    return add_remarks(*found, int4_format(), config.remarks);
  }
  // bitsandbytes' default for a missing bnb_4bit_quant_type is fp4, not nf4.
  if (method != "bitsandbytes" || !found->truth("load_in_4bit", false) ||
      found->text("bnb_4bit_quant_type", "fp4") != "nf4")
    keys.refuse("quantization_config", "of quantised weights only bitsandbytes' NF4 and 8da4w are supported",
                "Use the folder of the whole model.");
  config.is_stored_in_nf4 = true;
  config.skipped_modules = skipped_modules(*found);
  add_remarks(*found, nf4_format(), config.remarks);
}

}  // namespace multicard
