#include "nn/options/ModelOptions.hpp"

#include <algorithm>
#include <limits>

#include "base/HubCache.hpp"
#include "base/Text.hpp"
#include "kernels/Nf4Values.hpp"

namespace multicard {

namespace {

constexpr int kMostRank = 65536;
constexpr Word<WeightDtype> kTrainableWords[] = {{"fp32", WeightDtype::fp32}, {"bf16", WeightDtype::bf16}};

DeckKeys image_model_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"model.name", image, identity, "model",
       "the network: `mobilenet_v2`, `resnet18`, `resnet50`, `efficientnet_b0`, as torchvision defines them"},
      {"model.width", image, work, "width", "multiplies the channels of every layer; `mobilenet_v2` only"},
      {"model.classes", image, work, "classes", "outputs of the network", {.fallback = "from the shards"}},
      {"model.dropout",
       image,
       work,
       "dropout",
       "dropout before the classifier",
       {.fallback = "the model's own: 0.2, ResNets have none"}},
      {"model.weights", image, identity, "weights",
       "safetensors file or checkpoint to start from; a classifier of another size is initialised from scratch"},
      {"model.freeze", image, work, "freeze",
       "parameters that are not trained, by name with `*` and `?`: `[\"features.*\"]` trains the head alone"},
      {"model.freeze_batch_norm", image, work, "freeze batch norm",
       "normalise with the running statistics and leave them as they are"},
  };
}

DeckKeys language_model_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"model.path", llm, identity, "model",
       "Hugging Face folder of the model, or its name on the hub where it is in the local cache"},
      {"model.dtype",
       llm,
       speed,
       "model type",
       "type of the weights that are not trained",
       {.on_resume = OnResume::same}},
      {"model.random_weights", llm, identity, "random weights",
       "initialise the weights randomly from `run.seed` instead of reading them: `path` needs config.json alone"},
      {"model.trainable_dtype",
       llm,
       speed,
       "trainable type",
       "type of what is trained, of its gradients and moments; with `precision: fp64` float64 stands for fp32",
       {.on_resume = OnResume::same}},
      {"model.adapter", llm, identity, "adapter",
       "PEFT folder to start from; it sets rank, alpha, rslora, targets, patterns and modules_to_save"},
      {"model.activation_checkpointing", llm, speed, "activation checkpointing",
       "keep only the input of each layer and compute its inside again in backward"},
  };
}

DeckKeys method_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"method.name", llm, work, "method",
       "`lora`: low-rank adapters; `qlora`: the same on a base model in 4 bits; `full`: all weights; `dpo`, "
       "`lora-dpo`, `qlora-dpo`: the same on preference pairs; `qat`, `lora-qat`: `full` and `lora` on weights and "
       "activations rounded as after a conversion to int4 and int8"},
      {"method.rank", llm, work, "LoRA rank", "rank of the adapters"},
      {"method.alpha", llm, learning, "LoRA alpha", "adapters are scaled by alpha/rank, with `rslora` by alpha/√rank"},
      {"method.dropout", llm, work, "dropout", "dropout on the adapters' input"},
      {"method.rslora", llm, learning, "rslora",
       "rank-stabilised LoRA: scale adapters by alpha/√rank instead of alpha/rank"},
      {"method.targets", llm, work, "targets",
       "layers with adapters, in PEFT's meaning: ends of names, a pattern for whole names, or `all-linear`: all but "
       "lm_head"},
      {"method.rank_pattern", llm, work, "rank pattern",
       "ranks of single layers: regular expressions of the ends of names, as `q_proj` or `layers\\.0\\..*`; the first "
       "that matches decides"},
      {"method.alpha_pattern", llm, learning, "alpha pattern", "alphas of single layers, in the same way"},
      {"method.modules_to_save", llm, work, "modules to save",
       "modules of which a copy is trained whole along with the adapters: `embed_tokens`, `lm_head`, norms"},
      {"method.block_size", llm, work, "NF4 block size", "of a base in 4 bits: weights that share a scale; 64 alone"},
      {"method.double_quant", llm, work, "double quantisation",
       "of a base in 4 bits: the scales are quantised too, to 8 bits"},
      {"method.group_size", llm, work, "group size",
       "of `qat` and `lora-qat`: weights of a row that share a scale; even, divides the inputs of all linear layers"},
      {"method.fake_quant_step", llm, work, "fake quantisation step",
       "of `qat` and `lora-qat`: the first step that rounds; those before it train as without"},
      {"method.neftune_alpha", llm, learning, "NEFTune alpha",
       "noise on the embeddings of training tokens, uniform within alpha/√(length · hidden size); 0: none"},
  };
}

bool has_nf4_base(const MethodRow& row) {
  return row.base == MethodBase::nf4;
}
bool is_fake_quantised(const MethodRow& row) {
  return row.base == MethodBase::fake_quantised;
}

/// The method with adapters that is the same otherwise.
/// Found by the axes of the method's row, not by its name: a new method needs no place here.
std::string_view with_adapters(TuningMethod name) {
  const MethodRow& own = row_of(name);
  const auto* found = std::ranges::find_if(kMethodRows, [&](const MethodRow& row) {
    return row.trains == MethodTrains::adapters && row.base == own.base && row.objective == own.objective;
  });
  return word_of(found->name, kMethodWords);
}

void read_quantisation(Section& section, MethodOptions& method) {
  section.get_in_range("block_size", kNf4Block, kNf4Block, kNf4Block);
  method.double_quant = section.get("double_quant", method.double_quant);
  if (!method.has_quantised_base() && !method.double_quant)
    section.reject("double_quant", "belongs to " + methods_where(has_nf4_base), "method.name is another one",
                   "Remove it.");
}

// Keys of other methods may be in a deck with their defaults: resolved decks of checkpoints have all of them.
void read_fake_quantisation(Section& section, MethodOptions& method) {
  constexpr std::int64_t kMostGroup = 1 << 20;
  const MethodOptions defaults;  // which the resolved deck of a checkpoint says for any method
  method.group_size = section.get_in_range<std::int64_t>("group_size", method.group_size, 2, kMostGroup);
  method.fake_quant_step = section.get_in_range<std::int64_t>("fake_quant_step", method.fake_quant_step, 0,
                                                              std::numeric_limits<std::int64_t>::max());
  if (method.has_fake_quantisation()) return;
  const auto reject = [&](const char* key) {
    section.reject(key, "belongs to " + methods_where(is_fake_quantised), "method.name is another one", "Remove it.");
  };
  if (method.group_size != defaults.group_size) reject("group_size");
  if (method.fake_quant_step != defaults.fake_quant_step) reject("fake_quant_step");
}

void read_embedding_noise(Section& section, MethodOptions& method) {
  constexpr double kMost = 1e6;
  method.neftune_alpha = section.get_in_range("neftune_alpha", method.neftune_alpha, 0.0, kMost);
  if (method.is_preference() && method.neftune_alpha > 0)
    section.reject("neftune_alpha", "belongs to methods that predict target tokens",
                   "preference pairs are compared with a reference that has no noise", "Remove it.");
}

/// Of methods that train all weights.
void reject_adapter_keys(Section& section, const MethodOptions& method, const ModelOptions& model) {
  const std::string word(word_of(method.name, kMethodWords));
  for (const char* key :
       {"rank", "alpha", "dropout", "rslora", "targets", "rank_pattern", "alpha_pattern", "modules_to_save"})
    if (section.has(key))
      section.reject(key, "belongs to adapters", "method.name is " + word,
                     "Remove it, or replace the whole section with method={name: " + word + "}.");
  if (model.adapter)
    section.reject("name", "full tuning does not start from an adapter", "model.adapter is set",
                   "Merge it first, or use " + std::string(with_adapters(method.name)) + ".");
}

}  // namespace

std::string methods_where(bool (*holds)(const MethodRow&)) {
  std::vector<std::string> names;
  for (const MethodRow& row : kMethodRows)
    if (holds(row)) names.emplace_back(word_of(row.name, kMethodWords));
  const std::string last = names.back();
  names.pop_back();
  return names.empty() ? last : join(names, ", ") + " and " + last;
}

WeightFormat MethodOptions::weight_format() const {
  WeightFormat format;
  if (has_quantised_base()) format.kind = WeightFormat::Kind::nf4;
  if (has_fake_quantisation()) format.kind = WeightFormat::Kind::fake_int4;
  format.group_size = group_size;
  format.nested = double_quant ? DoubleQuantisation::on : DoubleQuantisation::off;
  return format;
}

ModelOptions read_image_model_options(Section& section) {
  ModelOptions model;
  model.name = section.get("name", model.name);
  model.width = section.get_in_range("width", model.width, 0.05, 10.0);
  model.classes = section.optional_in_range("classes", 2, 1'000'000);
  model.dropout = section.optional_in_range("dropout", 0.0, kBelowOne);
  model.weights = section.optional_path("weights");
  model.freeze = section.list<std::string>("freeze", {});
  model.freeze_batch_norm = section.get("freeze_batch_norm", model.freeze_batch_norm);
  return model;
}

ModelOptions read_language_model_options(Section& section) {
  ModelOptions model;
  model.path = model_folder(section.has("path") ? section.path("path", "") : section.require<std::string>("path"));
  model.name = "llama";
  model.dtype = section.choice("dtype", model.dtype, kWeightDtypeWords);
  model.trainable_dtype = section.choice("trainable_dtype", model.trainable_dtype, kTrainableWords);
  model.random_weights = section.get("random_weights", model.random_weights);
  model.adapter = section.optional_path("adapter");
  if (model.adapter) model.adapter = model_folder(*model.adapter);
  model.activation_checkpointing = section.get("activation_checkpointing", model.activation_checkpointing);
  return model;
}

MethodOptions read_method_options(Section& section, const ModelOptions& model) {
  MethodOptions method;
  method.name = section.choice("name", method.name, kMethodWords);
  read_quantisation(section, method);
  read_fake_quantisation(section, method);
  read_embedding_noise(section, method);
  method.preference = read_preference_options(section, method.is_preference() ? Pairs::yes : Pairs::no,
                                              method.has_adapters() ? Reference::adapters_off : Reference::copy);
  if (!method.has_adapters()) {
    reject_adapter_keys(section, method, model);
    return method;
  }
  constexpr double kAnyNumber = std::numeric_limits<double>::max();
  method.patterns.rank = section.numbers_by_name("rank_pattern", 1, kMostRank);
  method.patterns.alpha = section.numbers_by_name("alpha_pattern", kAboveZero, kAnyNumber);
  method.modules_to_save = section.optional_list<std::string>("modules_to_save").value_or(std::vector<std::string>());
  method.dropout = section.get_in_range("dropout", method.dropout, 0.0, kBelowOne);
  if (model.adapter) {  // which says the rest; what the deck says too must be the same
    method.rank = section.optional_in_range("rank", 1, kMostRank);
    method.alpha = section.optional_in_range("alpha", kAboveZero, kAnyNumber);
    method.rslora = section.optional<bool>("rslora");
    method.targets = section.list<std::string>("targets", {});
    return method;
  }
  method.rank = section.get_in_range("rank", 16, 1, kMostRank);
  method.alpha = section.get_in_range("alpha", 32.0, kAboveZero, kAnyNumber);
  method.rslora = section.get("rslora", false);
  method.targets = section.list<std::string>("targets", {"all-linear"});
  if (method.targets.empty()) section.reject("targets", "is empty", "nothing would be tuned");
  return method;
}

DeckKeys model_keys() {
  return concatenated({image_model_keys(), language_model_keys(), method_keys(), preference_keys()});
}

}  // namespace multicard
