#include "tasks/ImageTask.hpp"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "base/System.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "nn/Losses.hpp"
#include "tasks/DataReading.hpp"
#include "tasks/ImageNetwork.hpp"
#include "tasks/Normalisation.hpp"
#include "tasks/StepSeed.hpp"

namespace multicard {

namespace {

SamplerOptions sampler_options(const RunOptions& options, const ImageSetInfo& set, int num_ranks) {
  SamplerOptions sampler;
  sampler.num_rows = set.num_rows;
  sampler.global_batch = options.run.batch_over(num_ranks);
  sampler.seed = static_cast<std::uint64_t>(options.run.seed);
  sampler.shuffle = options.data.shuffle;
  sampler.drop_last = options.data.drop_last;
  return sampler;
}

AugmentOptions augmentation(const AugmentKeys& keys) {
  AugmentOptions augment;
  augment.horizontal_flip = keys.horizontal_flip;
  if (keys.crop_area)
    augment.crop = {keys.crop_area->first, keys.crop_area->second, keys.crop_ratio.first, keys.crop_ratio.second};
  return augment;
}

/// Worker threads of one rank: the processors of its own set, shared with the ranks that have the same set, less the
/// one that computes.
int automatic_workers(const Communicator& communicator) {
  const Communicator node = communicator.split_by_node();
  const std::string mine = cpu_set_text();
  const std::vector<std::string> all = node.allgather(mine);
  const auto sharing = static_cast<int>(std::count(all.begin(), all.end(), mine));
  return std::clamp(available_cpus() / sharing - 1, 1, 8);
}

}  // namespace

ImageTask::ImageTask(const RunOptions& options, const Communicator& communicator, at::Device device,
                     StatisticsReducer* statistics)
    : options_(options),
      communicator_(communicator),
      device_(device),
      precision_(precision_from(options.precision)),
      train_(options.data.train, communicator, options.data.limit, shard_reading(options.data)),
      classes_(options.model.classes.value_or(static_cast<int>(train_.info().class_names.size()))),
      sampler_(
          agreed(communicator, [&] { return Sampler(sampler_options(options, train_.info(), communicator.size())); })),
      uploader_(make_batch_uploader(device)),
      synchronises_(statistics != nullptr),
      num_workers_(options.data.workers ? *options.data.workers : automatic_workers(communicator)) {
  if (options_.data.test)
    test_.emplace(*options_.data.test, communicator_, options_.evaluate.limit, shard_reading(options_.data));
  agreed(communicator_, [&] {
    build_network(statistics);
    device_input_ = make_device_input(train_loader_options());
  });
}

void ImageTask::build_network(StatisticsReducer* statistics) {
  const auto in_shards = static_cast<std::int64_t>(train_.info().class_names.size());
  if (classes_ < in_shards)
    throw UsageError(fmt::format("model.classes is {}, but the training shards have {} classes", classes_, in_shards));
  if (test_ && test_->info().class_names != train_.info().class_names)
    throw DataError(fmt::format("{} and {} have different classes", options_.data.train, *options_.data.test));
  network_ = make_image_network(options_, classes_, device_);
  network_->set_statistics_reducer(statistics);
}

LoaderOptions ImageTask::loader_options(const ImageShards& shards) const {
  LoaderOptions loader;
  const ImageSetInfo& set = shards.info();
  loader.preprocess.height = set.height;
  loader.preprocess.width = set.width;
  loader.preprocess.channels = set.channels;
  loader.preprocess.size = options_.data.image_size;
  loader.preprocess.layout = options_.data.layout == "nhwc" ? ImageLayout::nhwc : ImageLayout::nchw;
  const NormalizeOptions values = normalisation();
  loader.preprocess.mean = values.mean;
  loader.preprocess.std = values.std;
  loader.dtype = master_type(precision_);
  loader.num_workers = num_workers_;
  loader.prefetch = options_.data.prefetch;
  loader.memory = device_.is_cuda() && options_.data.pin_memory ? HostMemory::pinned : HostMemory::pageable;
  loader.pipeline = options_.data.pipeline == "device" ? InputPipeline::device : InputPipeline::host;
  return loader;
}

NormalizeOptions ImageTask::normalisation() const {
  return options_.data.normalize.value_or(NormalizeOptions{train_.info().mean, train_.info().std});
}

LoaderOptions ImageTask::train_loader_options() const {
  LoaderOptions loader = loader_options(train_);
  loader.augment = augmentation(options_.data.augment);
  return loader;
}

std::optional<DevicePreprocessor> ImageTask::make_device_input(const LoaderOptions& loader) const {
  if (loader.pipeline == InputPipeline::host) return std::nullopt;
  return DevicePreprocessor(loader.preprocess, loader.dtype, device_);
}

void ImageTask::start_reading(const ReadPlan& plan) {
  plan_ = plan;
  if (plan.reading == Reading::none) return;
  const bool part = plan.reading == Reading::part;
  loader_ = std::make_unique<ImageLoader>(train_, sampler_, train_loader_options(), part ? plan.rank : 0,
                                          part ? plan.num_ranks : 1, plan.first_step, plan.last_step);
}

Batch ImageTask::next() {
  ImageBatch read = loader_->next().value();
  Batch batch;
  batch.step = read.step;
  batch.epoch = read.epoch;
  batch.num_rows = read.num_rows;
  batch.global_rows = read.global_rows;
  batch.inputs = std::move(read.images);
  batch.targets = std::move(read.labels);
  batch.details = {std::move(read.windows)};
  return device_input_ ? batch : own_rows(std::move(batch), plan_);
}

Batch ImageTask::allocate(std::int64_t step, std::int64_t num_rows) {
  const auto on_device = [&](at::ScalarType type) { return at::TensorOptions().dtype(type).device(device_); };
  Batch batch;
  batch.step = step;
  batch.epoch = sampler_.epoch_of(step);
  batch.num_rows = num_rows;
  batch.global_rows = sampler_.rows_in(step);
  batch.targets = at::empty({num_rows}, on_device(at::kLong));
  const std::int64_t size = options_.data.image_size;
  if (!device_input_) {
    batch.inputs = at::empty({num_rows, 3, size, size}, on_device(master_type(precision_)), memory_format(options_));
    return batch;
  }
  const ImageSetInfo& set = train_.info();
  batch.inputs = at::empty({num_rows, set.height, set.width, set.channels}, on_device(at::kByte));
  if (train_loader_options().augment.changes_images())
    batch.details = {at::empty({num_rows, ImageWindow::kNumFields}, on_device(at::kInt))};
  return batch;
}

Batch ImageTask::to_device(Batch batch) {
  const at::Tensor windows = batch.details.empty() ? at::Tensor{} : batch.details.front();
  uploader_->start({batch.inputs, batch.targets, windows});
  std::vector<at::Tensor> moved = uploader_->take();
  batch.inputs = std::move(moved[0]);
  batch.targets = std::move(moved[1]);
  batch.details = {std::move(moved[2])};
  return batch;
}

Batch ImageTask::finish_input(Batch batch) {
  if (!device_input_) return batch;
  const at::Tensor windows = batch.details.empty() ? at::Tensor{} : batch.details.front();
  batch.inputs = device_input_->run(batch.inputs, windows);
  batch.details.clear();
  return own_rows(std::move(batch), plan_);
}

void ImageTask::begin_step(std::int64_t step) {
  step_seed_ = step_seed(options_.run.seed, step, plan_.rank);
  num_forwards_ = 0;
}

at::Tensor ImageTask::logits(const at::Tensor& images) {
  const Autocast autocast(precision_, device_);
  return network_->forward(images);
}

at::Tensor ImageTask::logits_in_parts(const at::Tensor& images) {
  const std::int64_t rows = options_.run.micro_batch.value_or(images.size(0));
  if (rows >= images.size(0)) return logits(images);
  std::vector<at::Tensor> parts;
  for (const at::Tensor& part : images.split(rows))
    parts.push_back(logits(part));
  return at::cat(parts);
}

Loss ImageTask::forward(const Batch& batch) {
  network_->set_dropout_seed(micro_batch_seed(step_seed_, num_forwards_++));
  return {cross_entropy(logits(batch.inputs), batch.targets, batch.global_rows, options_.optimizer.label_smoothing)};
}

std::vector<std::pair<std::string, std::string>> ImageTask::description() const {
  const ModelOptions& model = options_.model;
  const ImageSetInfo& set = train_.info();
  const std::int64_t size = options_.data.image_size;
  return {{"model", fmt::format("{} width {}, {} M parameters, {}, {}", model.name, significant(model.width),
                                significant(static_cast<double>(network_->num_parameters()) / 1e6, 3),
                                options_.precision, options_.data.layout)},
          {"data", fmt::format("{} train / {} test, {}x{}x{} -> {}x{}x3, {} shards, {}", grouped(set.num_rows),
                               test_ ? grouped(test_->info().num_rows) : "no", set.height, set.width, set.channels,
                               size, size, set.num_shards, human_bytes(static_cast<double>(set.num_bytes)))}};
}

std::string ImageTask::describe(const Evaluation& found) const {
  std::string text;
  for (const auto& [name, value] : found.values)
    if (name == "accuracy")
      text += fmt::format("accuracy {}, ", significant(value));
    else if (classes_ > 5)
      text += fmt::format("top-5 {}, ", significant(value));
  return fmt::format("{}loss {} ({} images", text, significant(found.loss), grouped(found.samples));
}

std::map<std::string, double> ImageTask::data_identity() const {
  return normalisation_to_numbers(normalisation());
}

void ImageTask::add_attributes(RunSummary& summary) const {
  summary.text["model"] = options_.model.name;
  summary.text["layout"] = options_.data.layout;
  summary.text["pipeline"] = options_.data.pipeline;
  summary.integers["image_size"] = options_.data.image_size;
  summary.reals["width"] = options_.model.width;
}

std::optional<Evaluation> ImageTask::evaluate() {
  if (!test_) return std::nullopt;
  return score_test_set(Detail::totals).totals.evaluation();
}

ImageScores ImageTask::score_test_set(Detail detail) {
  const at::NoGradGuard no_grad;
  SamplerOptions order = sampler_options(options_, test_->info(), communicator_.size());
  order.shuffle = false;
  order.drop_last = false;
  const Sampler sampler(order);
  const LoaderOptions how = loader_options(*test_);
  const std::optional<DevicePreprocessor> device_input = make_device_input(how);
  ImageLoader loader(*test_, sampler, how, communicator_.rank(), communicator_.size(), 0, sampler.steps_per_epoch());
  network_->set_training(Mode::evaluate);
  const auto classify = [&](const ImageBatch& read) -> Classified {
    uploader_->start({read.images, read.labels});
    const std::vector<at::Tensor> batch = uploader_->take();
    return {logits_in_parts(device_input ? device_input->run(batch[0], {}) : batch[0]), batch[1]};
  };
  const ImageScores scores = evaluate_images(loader, classify, communicator_, detail);
  network_->set_training(Mode::train);
  return scores;
}

}  // namespace multicard
