#include "tasks/language/LanguageModel.hpp"

#include <filesystem>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/HubCache.hpp"
#include "base/RegularFile.hpp"
#include "device/Precision.hpp"
#include "dist/RankConditions.hpp"
#include "io/ForeignFormat.hpp"
#include "io/Sha256.hpp"
#include "kernels/Matmul.hpp"
#include "nn/language/LanguageFactory.hpp"
#include "nn/language/LanguageNetwork.hpp"
#include "state/CheckpointStore.hpp"
#include "state/ShardedWriter.hpp"
#include "tasks/language/CrossEntropy.hpp"
#include "tasks/language/DeckAdapters.hpp"
#include "tasks/options/DeckWeights.hpp"
#include "train/TrainingState.hpp"

namespace multicard {

namespace {

// Under autocast the matmuls' inputs are rounded to the smaller type while weights and their updates keep the master
// type.
at::ScalarType compute_type(Precision precision) {
  return autocast_type(precision).value_or(master_type(precision));
}

/// Of what is trained, its gradients and its moments.
at::ScalarType trained_type(const RunOptions& options) {
  return options.model.trainable_dtype == WeightDtype::bf16 ? at::kBFloat16 : master_type(options.precision);
}

/// Collective. Products of CPUs that differ may be of different types: then nothing is rounded.
std::optional<at::ScalarType> agreed_type(std::optional<at::ScalarType> mine, const ShardRanks& ranks) {
  for (TensorCollectives* const all : {ranks.group, ranks.copies})
    if (all != nullptr && !on_every_rank(*all, mine.has_value())) mine.reset();
  return mine;
}

}  // namespace

at::ScalarType weights_type(WeightDtype dtype) {
  switch (dtype) {
    case WeightDtype::fp64:
      return at::kDouble;
    case WeightDtype::fp32:
      return at::kFloat;
    case WeightDtype::fp16:
      return at::kHalf;
    case WeightDtype::bf16:
      break;
  }
  return at::kBFloat16;
}

// Trained weights need a type in which small updates do not vanish.
at::ScalarType base_type(const RunOptions& options) {
  return options.method.has_adapters() ? weights_type(options.model.dtype) : trained_type(options);
}

// Not of QAT, whose fake quantisation takes them as they are.
std::optional<at::ScalarType> type_of_copies(const RunOptions& options, at::Device device) {
  const at::ScalarType products = matmul_dtype(compute_type(options.precision), device);
  const bool is_dense = options.method.weight_format().kind == WeightFormat::Kind::dense;
  if (!is_dense || c10::elementSize(products) >= c10::elementSize(base_type(options))) return std::nullopt;
  return products;
}

void set_splitting(NetworkPlan& plan, const RunOptions& options, at::Device device) {
  if (plan.format.is_quantised()) return;
  plan.copies = type_of_copies(options, device);
  plan.ends = options.method.has_adapters() ? Ends::whole : Ends::split;
}

LanguageModel::LanguageModel(const RunOptions& options, at::Device device, const ShardRanks& sharding)
    : options_(options),
      folder_(options.model.path),
      device_(device),
      sharding_(sharding),
      random_seed_(random_weights_seed(options)),
      base_type_(base_type(options)),
      base_identity_(folder_, random_seed_, base_type_),
      copies_(agreed_type(type_of_copies(options, device), sharding)) {
  check_storage();
  ShardedNetwork made = base_network(sharding_);
  network_ = std::move(made.network);
  bytes_read_ = made.bytes_read;
  // Of the ranks that load the next network together one may have thrown, and takes part in nothing more.
  if (!made.is_filled || !is_done_by_group([&] { complete_network(); })) return;
  if (!options.method.has_adapters() && !is_converted_) split_ = std::move(made.blocks);
  make_objective();
}

bool LanguageModel::is_done_by_group(const std::function<void()>& body) const {
  if (sharding_.group) return done_on_every_rank(*sharding_.group, body);
  body();
  return true;
}

void LanguageModel::complete_network() {
  if (options_.method.has_adapters()) adapter_ = config_of(add_adapters(*network_));
  if (options_.model.adapter && !options_.model.layers_alone)
    warn_of(PeftAdapter::open(*options_.model.adapter).config().remarks);
  network_->set_checkpointing(checkpointing());
}

ShardedNetwork LanguageModel::loaded_network(const ShardRanks& sharding) const {
  const WeightFormat format = options_.method.weight_format();
  NetworkPlan plan = options_.model.layers_alone
                         ? plan_of_layers(folder_, base_type_, *options_.model.layers_alone, format)
                         : plan_network(folder_, base_type_, random_seed_, format);
  if (!sharding.group) return {load_network(plan, device_)};
  set_splitting(plan, options_, device_);
  plan.copies = copies_;
  return load_sharded_network(plan, sharding);
}

ShardedNetwork LanguageModel::base_network(const ShardRanks& sharding) const {
  ShardedNetwork made = loaded_network(sharding);
  made.network->set_compute_dtype(compute_type(options_.precision));
  return made;
}

void LanguageModel::check_files(const RunOptions& options) {
  plan_network(options.model.path, base_type(options), random_weights_seed(options), options.method.weight_format());
}

std::unique_ptr<Llama> LanguageModel::frozen_start() const {
  ShardRanks sharding = sharding_;
  if (options_.method.preference.reference == Reference::cached)  // it is there for a while, next to what is trained
    sharding.gathered = Gathered::while_computed;
  ShardedNetwork made = base_network(sharding);
  if (made.is_filled && options_.method.has_adapters()) add_adapters(*made.network);
  return std::move(made.network);
}

void LanguageModel::make_objective() {
  if (!options_.method.is_preference()) {
    objective_ = std::make_unique<CrossEntropy>(*network_, options_.method.neftune_alpha,
                                                static_cast<std::uint64_t>(options_.run.seed));
    return;
  }
  const PreferenceOptions& options = options_.method.preference;
  auto preference =
      std::make_unique<Preference>(*network_, options.reference == Reference::copy ? frozen_start() : nullptr, options);
  preference_ = preference.get();
  objective_ = std::move(preference);
}

// What cannot be trained can still be evaluated: that is why int4 weights and attention dropout are refused in
// parameters(), which only training calls, and only method and storage that contradict each other are refused here.
void LanguageModel::check_storage() {
  const MethodOptions& method = options_.method;
  const LlamaConfig config = LlamaConfig::read(folder_);
  const auto refuse = [&](const std::string& why, const std::string& help) {
    throw UsageError(fmt::format("method {} cannot start from {}", word_of(method.name, kMethodWords), folder_), why,
                     help);
  };
  if (config.is_stored_in_nf4 && !method.weight_format().is_quantised())
    refuse("its weights are stored in 4 bits", fmt::format("Set method.name={}, or use the folder of the whole model.",
                                                           method.is_preference() ? "qlora-dpo" : "qlora"));
  if (!options_.model.layers_alone) warn_of(config.remarks);
  attention_dropout_ = config.attention_dropout;
  is_converted_ = config.int4_group_size > 0;
  if (is_converted_ && method.has_adapters())
    refuse("its weights are converted to int4", "Use the folder of the whole model; eval takes method={name: full}.");
}

std::vector<NamedTensor> LanguageModel::parameters() const {
  if (is_converted_)
    throw UsageError(fmt::format("{} cannot be tuned", folder_), "its weights are converted to int4",
                     "Use the folder of the whole model.");
  if (attention_dropout_ > 0)
    throw DataError(fmt::format("{} cannot be tuned", folder_),
                    fmt::format("its config.json has attention_dropout {}, which is not supported", attention_dropout_),
                    "Set it to 0.0 there to train without.");
  return network_->parameters();
}

SplitParameters* LanguageModel::split_parameters() {
  if (split_ && !split_->is_trained()) split_->train(options_.parallel.gradient_dtype);
  return split_.get();
}

void LanguageModel::load_trained(const TensorFile& file) {
  if (!split_) return copy_into(trained(), file);
  check_matches(trained(), file);
  NamedTensors sources;
  for (const NamedTensor& entry : trained())
    sources.push_back({entry.name, file.view(entry.name)});
  copy_by_name(trained(), sources, split_.get());
}

AdapterOptions LanguageModel::add_adapters(Llama& network) const {
  std::optional<PeftAdapter> start;
  if (options_.model.adapter) start = PeftAdapter::open(*options_.model.adapter);
  AdapterOptions adapters = adapter_options(options_.method, start, network);
  adapters.dtype = trained_type(options_);
  adapters.seed = static_cast<std::uint64_t>(options_.run.seed);
  network.add_adapters(adapters);
  const at::NoGradGuard no_grad;
  if (start) start->load_into(network.adapters());
  return adapters;
}

AdapterConfig LanguageModel::config_of(const AdapterOptions& adapters) const {
  AdapterConfig config;
  config.settings = adapters.settings;
  config.base_model = hub_name_of(folder_).value_or(folder_);
  const std::vector<std::string> layers =
      adapted_layers_of(network_->adapters(), config.settings.modules_to_save, folder_);
  return with_resolved_targets(std::move(config), layers);
}

// All that changes a log-probability of the reference, and nothing else: a key too fine recomputes for minutes, one too
// coarse silently uses values of another model. A new option that changes them belongs here; the text is hashed, so
// that its format must not change either.
std::string LanguageModel::reference_settings() const {
  const WeightFormat format = options_.method.weight_format();
  const char* nested = format.nested == DoubleQuantisation::on ? "nf4 nested" : "nf4";
  std::string adapter = "none";
  if (options_.model.adapter)
    adapter = sha256_of_file((std::filesystem::path(*options_.model.adapter) / kAdapterFile).string());
  return fmt::format("adapter {}\nquantisation {}\nweights {}\ncompute {}\nlength_average {}\n", adapter,
                     format.is_quantised() ? nested : "none", c10::toString(base_type_),
                     c10::toString(compute_type(options_.precision)),
                     options_.method.preference.averages_lengths() ? 1 : 0);
}

std::string LanguageModel::file_name() const {
  return has_adapters() ? kAdapterFile : kModelFile;
}

std::map<std::string, std::string> LanguageModel::non_tensor_files() const {
  if (has_adapters()) return {{kAdapterConfigFile, adapter_config_json(*adapter_)}};
  std::map<std::string, std::string> files;
  for (const std::string& name : names_of_non_tensor_files(folder_))
    files[name] = read_file((std::filesystem::path(folder_) / name).string());
  return files;
}

std::map<std::string, std::string> LanguageModel::identity() const {
  const std::optional<std::string>& sha256 = base_identity_.sha256();
  return sha256 ? std::map<std::string, std::string>{{kBaseHash, *sha256}} : std::map<std::string, std::string>{};
}

}  // namespace multicard
