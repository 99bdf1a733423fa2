#include "tasks/images/ImageTask.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "device/Device.hpp"
#include "device/DeviceError.hpp"
#include "device/Precision.hpp"
#include "tasks/images/ImageNetwork.hpp"
#include "tasks/interface/ShardingText.hpp"

namespace multicard {

namespace {

/// Collective. Worker threads of one rank: the processors of its own set, shared with the ranks that have the same set,
/// less the one that computes.
int automatic_workers(const Communicator& communicator) {
  const int sharing = ranks_with_my_processors(communicator.split_by_node());
  return std::clamp(available_cpus() / sharing - 1, 1, 8);
}

/// Collective. What the training and the test set have in common.
ImageSourceOptions common_options(const RunOptions& options, const Communicator& communicator, at::Device device) {
  const DataOptions& data = options.data;
  ImageSourceOptions source;
  source.reading = data.reading;
  LoaderOptions& loader = source.loader;
  loader.preprocess.size = data.image_size;
  loader.preprocess.layout = data.layout;
  if (data.normalize) {
    loader.preprocess.mean = data.normalize->mean;
    loader.preprocess.std = data.normalize->std;
  }
  loader.dtype = master_type(options.precision);
  loader.num_workers = data.workers ? *data.workers : automatic_workers(communicator);
  loader.prefetch = data.prefetch;
  loader.memory = device.is_cuda() && data.pin_memory ? HostMemory::pinned : HostMemory::pageable;
  loader.pipeline = data.pipeline;
  source.order.global_batch = options.run.batch_over(communicator.size());
  source.order.seed = static_cast<std::uint64_t>(options.run.seed);
  return source;
}

ImageSourceOptions training_options(const RunOptions& options, ImageSourceOptions source) {
  source.shards = options.data.train;
  source.limit = options.data.limit;
  source.loader.augment = options.data.augment;
  source.order.shuffle = options.data.shuffle;
  source.order.drop_last = options.data.drop_last;
  return source;
}

const std::vector<std::string>& class_names(const RunOptions& options, const ImageSetInfo& training) {
  const std::vector<std::string>& known = options.model.class_names;
  return known.empty() ? training.class_names : known;
}

/// Pixels are normalised as those that the model is trained on, and labels mean what they mean to it.
ImageSourceOptions test_options(const RunOptions& options, ImageSourceOptions source, const ImageDataSource& training) {
  source.shards = *options.data.test;
  source.limit = options.evaluate.limit;
  source.loader.preprocess.mean = training.mean();
  source.loader.preprocess.std = training.std();
  source.order.shuffle = false;
  source.class_names = class_names(options, training.shards().info());
  return source;
}

}  // namespace

std::unique_ptr<ImageDataSource> open_training_images(const RunOptions& options, const Communicator& communicator,
                                                      at::Device device,
                                                      const std::shared_ptr<const ImageSetScan>& scan) {
  return ImageDataSource::open(training_options(options, common_options(options, communicator, device)), communicator,
                               device, scan);
}

std::int64_t num_classes_of(const RunOptions& options, const ImageSetInfo& training) {
  const auto in_shards = static_cast<std::int64_t>(class_names(options, training).size());
  const std::int64_t num_classes = options.model.classes.value_or(static_cast<int>(in_shards));
  if (num_classes < in_shards)
    throw UsageError(
        fmt::format("model.classes is {}, but the training shards have {} classes", num_classes, in_shards));
  return num_classes;
}

ImageTask::ImageTask(const RunOptions& options, const Communicator& communicator, at::Device device,
                     const ReplicaLinks& links, std::shared_ptr<ImageClassifier> model, const TaskScan& scan)
    : options_(options), communicator_(communicator) {
  train_ = open_training_images(options, communicator, device, scan.training_images);
  if (options.data.test)
    test_ = ImageDataSource::open(test_options(options, common_options(options, communicator, device), *train_),
                                  communicator, device, scan.test_images);
  model_ = agreed(communicator, [&] {
    return model ? model : with_known_errors([&] { return make_model(device); }, MemoryUse::setup);
  });
  if (links.sharding.group)
    agreed(communicator, [&] { with_known_errors([&] { model_->split(links.sharding); }, MemoryUse::setup); });
  model_->set_statistics_reducer(links.statistics);
}

TaskScan ImageTask::scan() const {
  TaskScan scan;
  scan.training_images = train_->shards().scan();
  if (test_) scan.test_images = test_->shards().scan();
  return scan;
}

std::shared_ptr<ImageClassifier> ImageTask::make_model(at::Device device) const {
  const ImageSetInfo& set = train_->shards().info();
  const std::vector<std::string>& names = class_names(options_, set);
  const std::int64_t num_classes = num_classes_of(options_, set);
  const std::optional<std::string>& weights = options_.model.weights;
  const std::vector<std::string> before = weights ? classes_of_weights(*weights) : names;
  // The classifier is kept only where the number of classes is equal, and then its outputs may mean other classes. With
  // another number it starts from scratch, which needs no warning.
  if (before.size() == names.size() && before != names)
    log_warning(fmt::format("{} was trained on other classes, or on these in another order: its classifier knows those",
                            *weights));
  return std::make_shared<ImageClassifier>(options_, num_classes, device);
}

std::vector<std::pair<std::string, std::string>> ImageTask::description() const {
  const ModelOptions& model = options_.model;
  const ImageSetInfo& set = train_->shards().info();
  const std::int64_t size = options_.data.image_size;
  std::vector<std::pair<std::string, std::string>> lines{
      {"model", fmt::format("{} width {}, {} M parameters, {}, {}", model.name, significant(model.width),
                            significant(static_cast<double>(model_->network().num_parameters()) / 1e6, 3),
                            word_of(options_.precision, kPrecisionWords), word_of(options_.data.layout, kLayoutWords))},
      {"data", fmt::format("{} train / {} test, {}x{}x{} -> {}x{}x3, {} shards, {}", grouped(set.num_rows),
                           test_ ? grouped(test_->shards().info().num_rows) : "no", set.height, set.width, set.channels,
                           size, size, set.num_shards, human_bytes(static_cast<double>(set.num_bytes)))}};
  if (const ShardRanks* ranks = model_->shard_ranks())
    lines.emplace_back("sharding", sharding_text(*ranks, model_->held_bytes()));
  return lines;
}

std::string ImageTask::describe(const Evaluation& found) const {
  std::string text;
  for (const auto& [name, value] : found.values)
    if (name == "accuracy")
      text += fmt::format("accuracy {}, ", significant(value));
    else if (model_->num_classes() > 5)
      text += fmt::format("top-5 {}, ", significant(value));
  return fmt::format("{}loss {} ({} images", text, significant(found.loss), grouped(found.samples));
}

void ImageTask::add_attributes(RunSummary& summary) const {
  summary.text["model"] = options_.model.name;
  summary.text["layout"] = word_of(options_.data.layout, kLayoutWords);
  summary.text["pipeline"] = word_of(options_.data.pipeline, kPipelineWords);
  summary.integers["image_size"] = options_.data.image_size;
  summary.reals["width"] = options_.model.width;
}

}  // namespace multicard
