#include "data/loading/ImageDataSource.hpp"

#include <algorithm>
#include <utility>

#include <ATen/ops/empty.h>

#include "comm/Agreement.hpp"
#include "data/shards/ClassNames.hpp"
#include "data/shards/PixelStatistics.hpp"

namespace multicard {

namespace {

// A test set gets mean and deviation of the training set: the network has learnt on pixels normalised by those.
LoaderOptions with_set(LoaderOptions loader, const ImageSetInfo& set) {
  PreprocessOptions& images = loader.preprocess;
  images.height = set.height;
  images.width = set.width;
  images.channels = set.channels;
  if (images.mean.empty()) {
    images.mean = set.mean;
    images.std = set.std;
  }
  return loader;
}

SamplerOptions with_rows(SamplerOptions order, std::int64_t num_rows) {
  order.num_rows = num_rows;
  return order;
}

at::MemoryFormat memory_format(ImageLayout layout) {
  return layout == ImageLayout::nhwc ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

}  // namespace

std::unique_ptr<ImageDataSource> ImageDataSource::open(const ImageSourceOptions& options,
                                                       const Communicator& communicator, at::Device device,
                                                       const std::shared_ptr<const ImageSetScan>& scan) {
  ImageShards shards = scan ? ImageShards(scan, communicator, options.reading)
                            : ImageShards(options.shards, communicator, options.limit, options.reading);
  if (!options.class_names.empty()) shards.take_classes(options.class_names);
  // Shards are closed by all ranks together: what can fail on one rank alone is made before anything owns them.
  Parts parts = agreed(communicator, [&] { return Parts(options, shards.info(), device); });
  return std::unique_ptr<ImageDataSource>(new ImageDataSource(std::move(shards), std::move(parts), device));
}

ImageDataSource::Parts::Parts(const ImageSourceOptions& options, const ImageSetInfo& set, at::Device device)
    : loader(with_set(options.loader, set)), sampler(with_rows(options.order, set.num_rows)) {
  if (loader.pipeline == InputPipeline::device) on_device.emplace(loader.preprocess, loader.dtype, device);
}

ImageDataSource::ImageDataSource(ImageShards shards, Parts parts, at::Device device)
    : DataSource(std::move(parts.sampler), device, parts.on_device ? Finishing::on_device : Finishing::on_host),
      shards_(std::move(shards)),
      loader_options_(std::move(parts.loader)),
      identity_texts_({{kClassesText, text_of_classes(shards_.info().class_names)},
                       {kLabelsText, digest_of_labels(shards_.labels())}}),
      on_device_(std::move(parts.on_device)) {}

void ImageDataSource::open_loader(int rank, int num_ranks, std::int64_t first_step, std::int64_t last_step) {
  LoaderOptions options = loader_options_;
  options.times = &mutable_loading_times();
  loader_ = std::make_unique<ImageLoader>(shards_, sampler(), options, rank, num_ranks, first_step, last_step);
}

Batch ImageDataSource::read() {
  ImageBatch images = loader_->next().value();
  Batch batch;
  batch.step = images.step;
  batch.epoch = images.epoch;
  batch.num_rows = images.num_rows;
  batch.global_rows = images.global_rows;
  batch.inputs = std::move(images.images);
  batch.targets = std::move(images.labels);
  batch.windows = std::move(images.windows);
  return batch;
}

Batch ImageDataSource::finish_on_device(Batch batch) const {
  batch.inputs = on_device_->run(batch.inputs, batch.windows);
  batch.windows.reset();
  return batch;
}

// Must agree in shape, type and layout with what next() and to_device() give on the root: the rows are scattered into
// it as plain bytes.
Batch ImageDataSource::allocate(std::int64_t step) const {
  const auto options = [&](at::ScalarType type) { return at::TensorOptions().dtype(type).device(device()); };
  const PreprocessOptions& images = loader_options_.preprocess;
  Batch batch;
  batch.step = step;
  batch.epoch = sampler().epoch_of(step);
  batch.num_rows = local_rows(step);
  batch.global_rows = rows_in(step);
  batch.targets = at::empty({batch.num_rows}, options(at::kLong));
  if (!on_device_) {
    batch.inputs = at::empty({batch.num_rows, 3, images.size, images.size}, options(loader_options_.dtype),
                             memory_format(images.layout));
    return batch;
  }
  batch.inputs = at::empty({batch.num_rows, images.height, images.width, images.channels}, options(at::kByte));
  if (loader_options_.augment.changes_images())
    batch.windows = at::empty({batch.num_rows, ImageWindow::kNumFields}, options(at::kInt));
  return batch;
}

// In the device pipeline stored bytes are uploaded and the finished batch is made from them on the device; what making
// it takes beyond its result is gone before forward begins, and counts against activations, not in addition to them.
InputMemory ImageDataSource::memory(std::int64_t rows, std::int64_t rows_read) const {
  const PreprocessOptions& images = loader_options_.preprocess;
  const std::int64_t most = std::max(rows, rows_read);
  const auto element = static_cast<std::int64_t>(c10::elementSize(loader_options_.dtype));
  const std::int64_t finished = most * 3 * images.size * images.size * element;
  const std::int64_t uploaded = on_device_ ? most * images.height * images.width * images.channels : finished;
  InputMemory memory;
  memory.kept = shards_.kept_bytes();
  memory.host = loader_bytes(loader_options_, rows_read);
  if (device().is_cuda()) memory.device = kBatchesOnDevice * uploaded;
  if (!on_device_) return memory;
  memory.device += finished;
  memory.before_forward = most * on_device_->bytes_per_row() - finished;
  return memory;
}

std::map<std::string, double> ImageDataSource::identity() const {
  return numbers_of({mean(), std()});
}

}  // namespace multicard
