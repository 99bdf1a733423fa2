// Rotary positions in config.json.

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "nn/language/ConfigKeys.hpp"
#include "nn/language/ConfigReading.hpp"

namespace multicard {

namespace {

using enum KeyUse;

constexpr ForeignKey kRope[] = {
    {"rope_type", used, "default, linear, llama3, yarn or dynamic"},
    {"type", used, "the same in older files"},
    {"rope_theta", used, "base; otherwise rope_theta of config.json, 10000"},
    {"factor", used, "by which texts may be longer"},
    {"original_max_position_embeddings", used, "llama3, yarn: longest text before; otherwise max_position_embeddings"},
    {"low_freq_factor", used, "llama3"},
    {"high_freq_factor", used, "llama3"},
    {"attention_factor", used, "yarn: what cos and sin are multiplied by"},
    {"mscale", used, "yarn: gives attention_factor, with the next"},
    {"mscale_all_dim", used, "yarn: gives attention_factor, with the last"},
    {"beta_fast", used, "yarn; 32"},
    {"beta_slow", used, "yarn; 1"},
    {"truncate", used, "yarn: whether the ends of the ramp are whole numbers; true"},
    {"partial_rotary_factor", used, "part of a head that is rotated; 1 alone is supported"},
    {"finetuned", harmless, "a note of the author"},
    {"short_factor", unsupported, "positions of longrope"},
    {"long_factor", unsupported, "positions of longrope"},
    {"alpha", unsupported, "another law of dynamic"},
    {"mrope_section", unsupported, "positions in pictures"},
    {"mrope_interleaved", unsupported, "positions in pictures"},
    {"full_attention", unsupported, "positions that differ by layer"},
    {"sliding_attention", unsupported, "positions that differ by layer"},
};

/// The key of older files where the other is missing.
std::string type_key(const ConfigReader& rope) {
  return rope.find("rope_type") || !rope.find("type") ? "rope_type" : "type";
}

double required_factor(const ConfigReader& rope, const char* key) {
  const double factor = rope.positive(key, 0);
  if (factor == 0) rope.refuse(key, "it is missing");
  return factor;
}

void read_llama3(const ConfigReader& rope, RopeScaling& scaling) {
  scaling.factor = required_factor(rope, "factor");
  scaling.low_frequency_factor = required_factor(rope, "low_freq_factor");
  scaling.high_frequency_factor = required_factor(rope, "high_freq_factor");
  if (scaling.high_frequency_factor <= scaling.low_frequency_factor)
    rope.refuse("high_freq_factor", "it is not above low_freq_factor");
}

/// What transformers infers where a file does not say.
/// YaRN scales the logits of attention by (0.1 ln(s) + 1)^2, that is cos and sin by its root. With mscale and
/// mscale_all_dim (DeepSeek) it is the quotient of two such numbers.
double usual_attention_factor(const ConfigReader& rope, double factor) {
  const auto scale = [&](double mscale) { return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0; };
  const bool has_both = rope.find("mscale") && rope.find("mscale_all_dim");
  return has_both ? scale(rope.positive("mscale", 1)) / scale(rope.positive("mscale_all_dim", 1)) : scale(1);
}

void read_yarn(const ConfigReader& rope, const LlamaConfig& config, RopeScaling& scaling) {
  const auto positions = static_cast<double>(config.max_positions);
  scaling.factor = rope.positive("factor", positions / static_cast<double>(scaling.original_max_positions));
  scaling.attention_factor = rope.positive("attention_factor", usual_attention_factor(rope, scaling.factor));
  scaling.beta_fast = rope.positive("beta_fast", 32);
  scaling.beta_slow = rope.positive("beta_slow", 1);
  if (scaling.beta_fast < scaling.beta_slow) rope.refuse("beta_fast", "it is below beta_slow");
  scaling.truncates = rope.truth("truncate", true);
}

void read_scaling(const ConfigReader& keys, const ConfigReader& rope, LlamaConfig& config) {
  using Kind = RopeScaling::Kind;
  const std::string key = type_key(rope), type = rope.text(key, "default");
  RopeScaling& scaling = config.rope_scaling;
  // What stands at the top counts, as in transformers.
  scaling.original_max_positions =
      keys.whole("original_max_position_embeddings",
                 rope.whole("original_max_position_embeddings", config.max_positions, 1, ConfigReader::kMostPositions),
                 1, ConfigReader::kMostPositions);
  if (type == "linear") {
    scaling.kind = Kind::linear;
    scaling.factor = required_factor(rope, "factor");
  } else if (type == "llama3") {
    scaling.kind = Kind::llama3;
    read_llama3(rope, scaling);
  } else if (type == "yarn") {
    scaling.kind = Kind::yarn;
    read_yarn(rope, config, scaling);
  } else if (type == "dynamic") {
    required_factor(rope, "factor");  // which counts beyond max_position_embeddings, where no text is
  } else if (type != "default") {
    rope.refuse(key, fmt::format("\"{}\" is not supported; default, linear, llama3, yarn and dynamic are", type));
  }
}

}  // namespace

ForeignFormat rope_format() {
  return {"rope", "rope_parameters and rope_scaling of config.json", {kRope}};
}

/// As convert_rope_params_to_dict() of transformers: rope_scaling goes first, and what it lacks stands at the top.
void read_rope(const ConfigReader& keys, LlamaConfig& config) {
  const std::optional<ConfigReader> parameters = keys.object("rope_parameters"), scaling = keys.object("rope_scaling");
  const bool has_scaling = scaling && !scaling->keys().empty();
  if (has_scaling && parameters && !parameters->keys().empty())
    config.remarks.push_back(
        fmt::format("{} is not read: rope_scaling takes its place", keys.place_of("rope_parameters")));
  const ConfigReader* rope = has_scaling ? &*scaling : parameters ? &*parameters : &keys;
  config.rope_theta = rope->positive("rope_theta", keys.positive("rope_theta", 10000.0));
  for (const ConfigReader* holder : {rope, &keys})
    if (holder->positive("partial_rotary_factor", 1.0) != 1.0)
      holder->refuse("partial_rotary_factor", "only 1 is supported");
  if (rope == &keys) return;
  add_remarks(*rope, rope_format(), config.remarks);
  read_scaling(keys, *rope, config);
}

}  // namespace multicard
