#include "tasks/LanguageModel.hpp"

#include <filesystem>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "base/Thread.hpp"
#include "device/Precision.hpp"
#include "io/Bytes.hpp"
#include "io/Sha256.hpp"
#include "nn/LanguageNetwork.hpp"
#include "nn/NetworkFactory.hpp"
#include "state/CheckpointStore.hpp"
#include "state/ShardedWriter.hpp"
#include "tasks/CrossEntropy.hpp"
#include "tasks/DeckWeights.hpp"
#include "text/NameMatch.hpp"

namespace multicard {

namespace {

at::ScalarType compute_type(Precision precision) {
  return autocast_type(precision).value_or(master_type(precision));
}

/// Of what is trained, its gradients and its moments.
at::ScalarType trained_type(const RunOptions& options) {
  return options.model.trainable_dtype == WeightDtype::bf16 ? at::kBFloat16 : master_type(options.precision);
}

/// The deck's word for a setting must be the adapter's, when there is one.
template <class T>
void check_same(const char* key, const std::optional<T>& in_deck, const T& in_adapter, const std::string& folder) {
  if (!in_deck || *in_deck == in_adapter) return;
  throw UsageError(fmt::format("method.{} is {}, but the adapter's is {}", key, *in_deck, in_adapter),
                   fmt::format("model.adapter is {}", folder), "Remove the key: the adapter sets it.");
}

/// Targets may be spelt in several ways: what counts is which layers they adapt.
void check_same_layers(const MethodOptions& method, const AdapterOptions& of_adapter,
                       const std::vector<std::string>& layers) {
  if (method.targets.empty()) return;
  AdapterOptions of_deck = of_adapter;
  of_deck.targets = method.targets;
  of_deck.file.clear();
  if (adapted_layers(of_deck, layers) != adapted_layers(of_adapter, layers))
    check_same("targets", std::optional(join(method.targets, ", ")), join(of_adapter.targets, ", "), of_adapter.file);
}

/// The adapters of the deck, or of the adapter that it starts from, for a network with these linear layers.
AdapterOptions adapter_options(const MethodOptions& method, const std::optional<PeftAdapter>& start,
                               const std::vector<std::string>& layers) {
  AdapterOptions adapters;
  if (start) {
    const AdapterConfig& config = start->config();
    check_same("rank", method.rank, config.rank, start->path());
    check_same("alpha", method.alpha, config.alpha, start->path());
    check_same("rslora", method.rslora, config.rslora, start->path());
    adapters = adapter_options_of(config, whole_matches);
    adapters.file = start->path();
    check_same_layers(method, adapters, layers);
  } else {
    adapters.rank = *method.rank;
    adapters.alpha = *method.alpha;
    adapters.rslora = *method.rslora;
    adapters.targets = method.targets;
    adapters.matcher = whole_matches;
  }
  adapters.dropout = method.dropout;
  return adapters;
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

LanguageModel::LanguageModel(const RunOptions& options, at::Device device)
    : options_(options), folder_(options.model.path), device_(device), random_seed_(random_weights_seed(options)) {
  const MethodOptions& method = options.method;
  base_type_ = method.has_adapters() ? weights_type(options.model.dtype) : trained_type(options);
  check_storage();
  network_ = base_network();
  if (method.has_adapters()) adapter_ = config_of(add_adapters(*network_));
  network_->set_checkpointing(checkpointing());
  make_objective();
}

std::unique_ptr<Llama> LanguageModel::base_network() const {
  auto network =
      options_.model.layers_alone
          ? zero_network(folder_, base_type_, device_, *options_.model.layers_alone, options_.method.weight_format())
          : load_network(folder_, base_type_, device_, random_seed_, options_.method.weight_format());
  network->set_compute_dtype(compute_type(options_.precision));
  return network;
}

std::unique_ptr<Llama> LanguageModel::frozen_start() const {
  std::unique_ptr<Llama> network = base_network();
  if (options_.method.has_adapters()) add_adapters(*network);
  return network;
}

void LanguageModel::make_objective() {
  if (!options_.method.prefers()) {
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

void LanguageModel::check_storage() {
  const MethodOptions& method = options_.method;
  const LlamaConfig config = LlamaConfig::read(folder_);
  const auto refuse = [&](const std::string& why, const std::string& help) {
    throw UsageError(fmt::format("method {} cannot start from {}", word_of(method.name, kMethodWords), folder_), why,
                     help);
  };
  if (config.is_stored_in_nf4 && !method.weight_format().is_quantised())
    refuse("its weights are stored in 4 bits", fmt::format("Set method.name={}, or use the folder of the whole model.",
                                                           method.prefers() ? "qlora-dpo" : "qlora"));
  is_converted_ = config.int4_group_size > 0;
  if (is_converted_ && method.has_adapters())
    refuse("its weights are converted to int4", "Use the folder of the whole model; eval takes method={name: full}.");
}

std::vector<NamedTensor> LanguageModel::parameters() const {
  if (is_converted_)
    throw UsageError(fmt::format("{} cannot be tuned", folder_), "its weights are converted to int4",
                     "Use the folder of the whole model.");
  return network_->parameters();
}

void LanguageModel::start_identity() {
  if (sha256_.valid()) return;
  sha256_ = start_async("the check of the base model", [folder = folder_, seed = random_seed_, type = base_type_] {
              return seed ? sha256_of_random_weights(folder, *seed, type) : ModelFolder::open(folder).sha256();
            }).share();
}

AdapterOptions LanguageModel::add_adapters(Llama& network) const {
  std::optional<PeftAdapter> start;
  if (options_.model.adapter) start = PeftAdapter::open(*options_.model.adapter);
  AdapterOptions adapters = adapter_options(options_.method, start, network.linear_layers());
  adapters.dtype = trained_type(options_);
  adapters.seed = static_cast<std::uint64_t>(options_.run.seed);
  network.add_adapters(adapters);
  const at::NoGradGuard no_grad;
  if (start) start->load_into(network.adapters());
  return adapters;
}

AdapterConfig LanguageModel::config_of(const AdapterOptions& adapters) const {
  AdapterConfig config;
  config.rank = adapters.rank;
  config.alpha = adapters.alpha;
  config.dropout = adapters.dropout;
  config.rslora = adapters.rslora;
  config.targets = adapters.targets;
  config.base_model = folder_;
  return with_resolved_targets(std::move(config), adapted_layers_of(network_->adapters(), folder_));
}

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

std::map<std::string, std::string> LanguageModel::files_beside() const {
  if (has_adapters()) return {{kAdapterConfigFile, adapter_config_json(*adapter_)}};
  std::map<std::string, std::string> files;
  for (const std::string& name : files_beside_weights(folder_))
    files[name] = read_file((std::filesystem::path(folder_) / name).string());
  return files;
}

std::map<std::string, std::string> LanguageModel::identity() const {
  if (!sha256_.valid()) return {};
  return {{kBaseHash, sha256_.get()}};
}

}  // namespace multicard
