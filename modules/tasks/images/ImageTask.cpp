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

/// Worker threads of one rank: the processors of its own set, shared with the ranks that have the same set, less the
/// one that computes.
int automatic_workers(const Communicator& communicator) {
  const int sharing = ranks_with_my_processors(communicator.split_by_node());
  return std::clamp(available_cpus() / sharing - 1, 1, 8);
}

/// What the training and the test set have in common.
ImageSourceOptions common_options(const RunOptions& options, int num_workers, int num_ranks, at::Device device) {
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
  loader.num_workers = num_workers;
  loader.prefetch = data.prefetch;
  loader.memory = device.is_cuda() && data.pin_memory ? HostMemory::pinned : HostMemory::pageable;
  loader.pipeline = data.pipeline;
  source.order.global_batch = options.run.batch_over(num_ranks);
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

/// Pixels are normalised as those that the model is trained on, and labels mean what they mean to it.
ImageSourceOptions test_options(const RunOptions& options, ImageSourceOptions source, const ImageDataSource& training) {
  source.shards = *options.data.test;
  source.limit = options.evaluate.limit;
  source.loader.preprocess.mean = training.mean();
  source.loader.preprocess.std = training.std();
  source.order.shuffle = false;
  source.class_names =
      options.model.class_names.empty() ? training.shards().info().class_names : options.model.class_names;
  return source;
}

}  // namespace

ImageTask::ImageTask(const RunOptions& options, const Communicator& communicator, at::Device device,
                     const ReplicaLinks& links, std::shared_ptr<ImageClassifier> model, const TaskScan& scan)
    : options_(options), communicator_(communicator) {
  const int num_workers = options.data.workers ? *options.data.workers : automatic_workers(communicator);
  const ImageSourceOptions common = common_options(options, num_workers, communicator.size(), device);
  train_ = ImageDataSource::open(training_options(options, common), communicator, device, scan.training_images);
  if (options.data.test)
    test_ = ImageDataSource::open(test_options(options, common, *train_), communicator, device, scan.test_images);
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
  const std::vector<std::string>& known = options_.model.class_names;
  const std::vector<std::string>& names = known.empty() ? train_->shards().info().class_names : known;
  const auto in_shards = static_cast<std::int64_t>(names.size());
  const std::int64_t num_classes = options_.model.classes.value_or(static_cast<int>(in_shards));
  if (num_classes < in_shards)
    throw UsageError(
        fmt::format("model.classes is {}, but the training shards have {} classes", num_classes, in_shards));
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
