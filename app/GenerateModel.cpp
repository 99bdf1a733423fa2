#include "GenerateModel.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "base/HubCache.hpp"
#include "base/NearPath.hpp"
#include "base/Thread.hpp"
#include "config/Deck.hpp"
#include "io/ForeignFormat.hpp"
#include "nn/language/LanguageFactory.hpp"
#include "nn/language/LanguageNetwork.hpp"
#include "sharding/ShardedNetwork.hpp"
#include "state/CheckpointStore.hpp"
#include "tasks/options/DeckWeights.hpp"
#include "text/tokenizer/NameMatch.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

/// How a checkpoint computes, and its base model where it has an adapter.
void take_base(ModelSource& source, const std::string& checkpoint) {
  const Deck deck = Deck::parse(CheckpointStore::read_state(checkpoint).deck, checkpoint);
  if (deck.get_text("task") != "llm")
    throw UsageError(fmt::format("{} is not a checkpoint of a language model", checkpoint));
  source.format = weight_format(deck);
  if (!fs::exists(fs::path(checkpoint) / kAdapterConfigFile)) return;
  source.adapter = checkpoint;
  source.model = model_folder(deck.get_text("model.path"));
  source.random_seed = random_weights_seed(deck);
  if (!fs::exists(source.model))
    throw DataError(fmt::format("the base model of {} does not exist", checkpoint),
                    fmt::format("it was {}", source.model),
                    fmt::format("Name where it is now: multicard generate MODEL --adapter {}", checkpoint));
}

}  // namespace

ModelSource find_model(const GenerateArguments& arguments, bool is_root) {
  ModelSource source{model_folder(arguments.model)};
  const std::string given = source.model;
  if (fs::exists(fs::path(given) / kStateFile)) {
    if (is_root) CheckpointStore::verify(given);
    take_base(source, given);
  } else if (!fs::exists(fs::path(given) / "config.json")) {
    if (fs::exists(fs::path(given) / kAdapterConfigFile))
      throw DataError(fmt::format("{} is an adapter", given), "it holds no model that it could change",
                      fmt::format("multicard generate MODEL --adapter {}", given));
    throw DataError(fmt::format("{} is neither a model folder nor a checkpoint", given),
                    fs::exists(given) ? "it holds neither config.json nor trainer.json" : "it does not exist",
                    suggest_fetching(given, did_you_mean(given,
                                                         "Name a model folder, or OUTPUT/checkpoints/step_... "
                                                         "of a run.")));
  }
  if (!arguments.adapter.empty() && source.adapter)
    throw UsageError("--adapter is given for a checkpoint that has an adapter itself", "a model has one at a time",
                     "Name the base model, or leave --adapter out.");
  if (!arguments.adapter.empty()) source.adapter = model_folder(arguments.adapter);
  source.provenance = read_provenance(source.adapter.value_or(source.model));
  return source;
}

std::future<std::string> hash_base(const ModelSource& source) {
  if (!source.adapter || !source.provenance.base_sha256 || source.random_seed) return {};
  return start_async("the check of the base model",
                     [folder = source.model] { return ModelFolder::open(folder).sha256(); });
}

namespace {

bool has_average(const ModelSource& source) {
  return !source.adapter && tuned_file_of(source.model) == kAverageFile;
}

std::unique_ptr<Llama> adapted(std::unique_ptr<Llama> network, const ModelSource& source, at::ScalarType dtype) {
  if (source.adapter) {
    const PeftAdapter adapter = PeftAdapter::open(*source.adapter, tuned_file_of(*source.adapter));
    warn_of(adapter.config().remarks);
    // In float32, as adapters are tuned, also next to weights of 16 bits.
    attach_adapters(*network, adapter, dtype == at::kDouble ? at::kDouble : at::kFloat, whole_matches);
  }
  network->set_training(Mode::evaluate);
  return network;
}

}  // namespace

std::unique_ptr<Llama> load_model(const ModelSource& source, at::ScalarType dtype, at::Device device) {
  std::unique_ptr<Llama> network = load_network(source.model, dtype, device, source.random_seed, source.format);
  if (has_average(source)) load_average(*network, source.model);
  return adapted(std::move(network), source, dtype);
}

NetworkPlan plan_model(const ModelSource& source, at::ScalarType dtype) {
  NetworkPlan plan = plan_network(source.model, dtype, source.random_seed, source.format);
  if (!has_average(source)) return plan;
  plan.files = ModelFolder::of_file(CheckpointStore::average_file(source.model));
  check_files(plan);
  return plan;
}

std::unique_ptr<Llama> load_model(const ModelSource& source, const NetworkPlan& plan, TensorCollectives& sharding) {
  return adapted(load_sharded_network(plan, {&sharding}).network, source, plan.dtype);
}

}  // namespace multicard
