#include "tasks/ImageNetwork.hpp"

#include <algorithm>
#include <filesystem>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include "base/Log.hpp"
#include "device/Precision.hpp"
#include "state/CheckpointStore.hpp"
#include "state/TensorFile.hpp"

namespace multicard {

namespace {

/// model.weights names a safetensors file or a checkpoint folder.
std::string weights_file(const std::string& path) {
  return std::filesystem::is_directory(path) ? CheckpointStore::model_file(path) : path;
}

NetworkOptions network_options(const RunOptions& options, std::int64_t num_classes) {
  NetworkOptions network;
  network.width = options.model.width;
  network.classes = num_classes;
  network.dropout = options.model.dropout;
  network.seed = static_cast<std::uint64_t>(options.run.seed);
  return network;
}

/// Outputs of the network that the file holds; `own` when it does not say.
std::int64_t classes_in(const TensorFile& file, const Network& network, std::int64_t own) {
  const std::string& weight = network.classifier_names().front();
  return file.contains(weight) ? file.view(weight).size(0) : own;
}

void copy_all_but_classifier(const Network& from, const Network& to) {
  const at::NoGradGuard no_grad;
  const std::vector<std::string>& names = to.classifier_names();
  for (std::size_t i = 0; i < to.state().size(); ++i)
    if (std::find(names.begin(), names.end(), to.state()[i].name) == names.end())
      at::Tensor(to.state()[i].tensor).copy_(from.state()[i].tensor);
}

void load_weights(Network& network, const RunOptions& options, std::int64_t num_classes) {
  const TensorFile file(weights_file(*options.model.weights));
  const std::int64_t in_file = classes_in(file, network, num_classes);
  if (in_file == num_classes) return copy_into(network.state(), file);
  const std::unique_ptr<Network> whole = make_network(options.model.name, network_options(options, in_file));
  copy_into(whole->state(), file);
  copy_all_but_classifier(*whole, network);
  log_info(fmt::format("{:<10}{} has {} classes: the classifier of {} is initialised from scratch", "weights",
                       file.path(), in_file, num_classes));
}

}  // namespace

at::MemoryFormat memory_format(const RunOptions& options) {
  return options.data.layout == ImageLayout::nhwc ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

std::unique_ptr<Network> make_image_network(const RunOptions& options, std::int64_t num_classes, at::Device device) {
  std::unique_ptr<Network> network = make_network(options.model.name, network_options(options, num_classes));
  if (options.model.weights) load_weights(*network, options, num_classes);
  network->to(device, master_type(options.precision), memory_format(options));
  if (!options.model.freeze.empty()) network->freeze(options.model.freeze);
  network->set_norm_statistics(options.model.freeze_batch_norm ? Statistics::frozen : Statistics::of_batch);
  return network;
}

}  // namespace multicard
