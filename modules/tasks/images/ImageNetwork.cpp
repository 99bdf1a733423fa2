#include "tasks/images/ImageNetwork.hpp"

#include <filesystem>

#include "comm/Agreement.hpp"
#include "data/shards/ClassNames.hpp"
#include "device/Precision.hpp"
#include "nn/vision/NetworkFactory.hpp"
#include "state/CheckpointStore.hpp"

namespace multicard {

namespace {

NetworkOptions network_options(const RunOptions& options, std::int64_t num_classes) {
  NetworkOptions network;
  network.width = options.model.width;
  network.classes = num_classes;
  network.dropout = options.model.dropout;
  network.seed = static_cast<std::uint64_t>(options.run.seed);
  return network;
}

}  // namespace

std::vector<std::string> classes_of_weights(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::is_directory(path) ? fs::path(path) : fs::path(path).parent_path();
  std::vector<std::string> names;
  // A trainer.json of another program says nothing of classes.
  const std::optional<Error> unknown = error_of([&] {
    const TrainerState state = CheckpointStore::read_state(folder.string());
    if (const auto text = state.text.find(kClassesText); text != state.text.end())
      names = classes_of_text(text->second);
  });
  if (unknown) names.clear();
  return names;
}

at::MemoryFormat memory_format(const RunOptions& options) {
  return options.data.layout == ImageLayout::nhwc ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

std::unique_ptr<Network> make_image_network(const RunOptions& options, std::int64_t num_classes, at::Device device) {
  const std::string& name = options.model.name;
  const NetworkOptions shape = network_options(options, num_classes);
  std::unique_ptr<Network> network =
      options.model.weights ? make_network(name, shape, *options.model.weights) : make_network(name, shape);
  network->to(device, master_type(options.precision), memory_format(options));
  if (!options.model.freeze.empty()) network->freeze(options.model.freeze);
  network->set_norm_statistics(options.model.freeze_batch_norm ? Statistics::frozen : Statistics::of_batch);
  return network;
}

}  // namespace multicard
