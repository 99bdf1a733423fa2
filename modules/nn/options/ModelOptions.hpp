#pragma once
/// \file What a deck says of its network and of how a language model is tuned.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "config/DeckKey.hpp"
#include "config/Words.hpp"
#include "kernels/WeightFormat.hpp"
#include "nn/options/PreferenceOptions.hpp"
#include "state/AdapterPatterns.hpp"

namespace multicard {

/// model.dtype and model.trainable_dtype
enum class WeightDtype { fp64, fp32, fp16, bf16 };
inline constexpr Word<WeightDtype> kWeightDtypeWords[] = {
    {"fp64", WeightDtype::fp64}, {"fp32", WeightDtype::fp32}, {"fp16", WeightDtype::fp16}, {"bf16", WeightDtype::bf16}};

struct ModelOptions {
  std::string name = "mobilenet_v2";
  double width = 1.0;                  ///< multiplies the channels of every layer
  std::optional<int> classes;          ///< none: as many as the shards name
  std::optional<double> dropout;       ///< none: the model's own
  std::optional<std::string> weights;  ///< safetensors file or checkpoint folder to start from
  std::vector<std::string> freeze;     ///< patterns of parameter names that are not trained
  bool freeze_batch_norm = false;      ///< running statistics normalise and stay as they are
  /// What the outputs stand for, where it is known without the training shards. No key of decks.
  std::vector<std::string> class_names;
  // Language models have these instead.
  std::string path;                                 ///< Hugging Face folder
  WeightDtype dtype = WeightDtype::bf16;            ///< of frozen weights
  WeightDtype trainable_dtype = WeightDtype::fp32;  ///< of what is trained: fp32 (with fp64 that) | bf16
  bool random_weights = false;            ///< initialise the weights randomly from run.seed instead of reading them
  std::optional<std::string> adapter;     ///< PEFT folder to start from; it sets rank, alpha and targets
  bool activation_checkpointing = false;  ///< compute the inside of each layer again in backward
  /// Only that many of the layers, with weights of zero: to measure what a layer takes. No key of decks.
  std::optional<std::int64_t> layers_alone;
};

/// method.name
enum class TuningMethod { full, lora, qlora, dpo, lora_dpo, qlora_dpo, qat, lora_qat };
inline constexpr Word<TuningMethod> kMethodWords[] = {
    {"full", TuningMethod::full}, {"lora", TuningMethod::lora},         {"qlora", TuningMethod::qlora},
    {"dpo", TuningMethod::dpo},   {"lora-dpo", TuningMethod::lora_dpo}, {"qlora-dpo", TuningMethod::qlora_dpo},
    {"qat", TuningMethod::qat},   {"lora-qat", TuningMethod::lora_qat}};

enum class MethodTrains { all_weights, adapters };
/// What the weights of linear layers are in a forward pass.
enum class MethodBase { as_stored, nf4, fake_quantised };
enum class MethodObjective { next_token, preference };

/// A tuning method is its place on three axes.
struct MethodRow {
  TuningMethod name;
  MethodTrains trains;
  MethodBase base;
  MethodObjective objective;
};
inline constexpr MethodRow kMethodRows[] = {
    {TuningMethod::full, MethodTrains::all_weights, MethodBase::as_stored, MethodObjective::next_token},
    {TuningMethod::lora, MethodTrains::adapters, MethodBase::as_stored, MethodObjective::next_token},
    {TuningMethod::qlora, MethodTrains::adapters, MethodBase::nf4, MethodObjective::next_token},
    {TuningMethod::dpo, MethodTrains::all_weights, MethodBase::as_stored, MethodObjective::preference},
    {TuningMethod::lora_dpo, MethodTrains::adapters, MethodBase::as_stored, MethodObjective::preference},
    {TuningMethod::qlora_dpo, MethodTrains::adapters, MethodBase::nf4, MethodObjective::preference},
    {TuningMethod::qat, MethodTrains::all_weights, MethodBase::fake_quantised, MethodObjective::next_token},
    {TuningMethod::lora_qat, MethodTrains::adapters, MethodBase::fake_quantised, MethodObjective::next_token}};

constexpr const MethodRow& row_of(TuningMethod name) {
  return *std::ranges::find(kMethodRows, name, &MethodRow::name);
}
static_assert(std::ranges::all_of(kMethodWords, [](const Word<TuningMethod>& word) {
  return std::ranges::find(kMethodRows, word.value, &MethodRow::name) != std::end(kMethodRows);
}));

/// "qlora and qlora-dpo": the methods for which `holds`, for messages.
std::string methods_where(bool (*holds)(const MethodRow&));

/// How a language model is tuned. What is empty is set by model.adapter.
struct MethodOptions {
  TuningMethod name = TuningMethod::lora;
  std::optional<int> rank;                   ///< of the adapters
  std::optional<double> alpha;               ///< scales the adapters: by alpha / rank
  double dropout = 0;                        ///< on the adapters' input
  std::optional<bool> rslora;                ///< scale by alpha / sqrt(rank)
  std::vector<std::string> targets;          ///< in PEFT's meaning
  AdapterPatterns patterns;                  ///< of layers with another rank or alpha
  std::vector<std::string> modules_to_save;  ///< modules that are trained whole along with the adapters
  bool double_quant = true;                  ///< of a quantised base
  std::int64_t group_size = 256;             ///< of fake quantisation: weights of a row that share a scale
  std::int64_t fake_quant_step = 0;          ///< of fake quantisation: the first step that has it
  PreferenceOptions preference;              ///< of preference pairs
  double neftune_alpha = 0;                  ///< of EmbeddingNoise; 0: none

  bool has_adapters() const { return row_of(name).trains == MethodTrains::adapters; }
  bool has_quantised_base() const { return row_of(name).base == MethodBase::nf4; }
  bool has_fake_quantisation() const { return row_of(name).base == MethodBase::fake_quantised; }
  /// Whether it trains on preference pairs.
  bool is_preference() const { return row_of(name).objective == MethodObjective::preference; }
  /// Of the base model's linear layers.
  WeightFormat weight_format() const;
};

/// \param model the section model
ModelOptions read_image_model_options(Section& model);
/// \param model the section model
ModelOptions read_language_model_options(Section& model);
/// With model.adapter, what says how adapters look is the adapter's and stays empty unless set.
/// \param method the section method
MethodOptions read_method_options(Section& method, const ModelOptions& model);

/// The rows of the keys whose values this module defines.
DeckKeys model_keys();

}  // namespace multicard
