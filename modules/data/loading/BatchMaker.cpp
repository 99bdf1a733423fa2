#include "data/loading/BatchMaker.hpp"

#include <algorithm>

namespace multicard {

namespace {

/// The most rows that a part of a batch has. Of the largest block over all ranks, so that pieces of the pools have one
/// size on all of them and fit every step.
std::int64_t most_rows(const Sampler& sampler, int num_ranks) {
  const std::int64_t batch = std::min(sampler.options().global_batch, sampler.options().num_rows);
  return (batch + num_ranks - 1) / num_ranks;
}

std::optional<Augmentation> make_augmentation(const LoaderOptions& options, const Sampler& sampler) {
  if (!options.augment.changes_images()) return std::nullopt;
  return Augmentation(options.augment, sampler.options().seed, options.preprocess.height, options.preprocess.width);
}

/// What stays on the host needs no pinned memory.
HostMemory staging_memory(const LoaderOptions& options) {
  return options.pipeline == InputPipeline::device ? options.memory : HostMemory::pageable;
}

}  // namespace

BatchMaker::BatchMaker(const ImageShards& shards, const Sampler& sampler, const LoaderOptions& options, int rank,
                       int num_ranks)
    : shards_(shards),
      sampler_(sampler),
      rank_(rank),
      num_ranks_(num_ranks),
      pipeline_(options.pipeline),
      size_(options.preprocess.size),
      augmentation_(make_augmentation(options, sampler)),
      preprocessor_(options.preprocess, options.dtype),
      pixels_(most_rows(sampler, num_ranks) * shards.bytes_per_row(), at::kByte, staging_memory(options)),
      windows_(most_rows(sampler, num_ranks) * ImageWindow::kNumFields, at::kInt, staging_memory(options)),
      images_(most_rows(sampler, num_ranks) * 3 * size_ * size_, options.dtype, options.memory),
      labels_(most_rows(sampler, num_ranks), at::kLong, options.memory),
      times_(options.times) {}

// In the device pipeline the stored bytes are the batch and are uploaded as they are; in that of the host they only
// feed the preprocessor, and their memory returns to the pool with the PendingBatch.
PendingBatch BatchMaker::begin(std::int64_t step) {
  const ImageSetInfo& info = shards_.info();
  const std::int64_t row_values = info.width * info.channels;
  PendingBatch pending;
  pending.rows = sampler_.part(step, rank_, num_ranks_);
  const auto num_rows = static_cast<std::int64_t>(pending.rows.size());
  pending.pixels = pixels_.take({num_rows, info.height, info.width, info.channels},
                                {shards_.bytes_per_row(), row_values, info.channels, 1});
  if (augmentation_) pending.windows = windows_.take({num_rows, ImageWindow::kNumFields}, {ImageWindow::kNumFields, 1});
  ImageBatch& batch = pending.batch;
  batch.step = step;
  batch.epoch = sampler_.epoch_of(step);
  batch.labels = labels_.take({num_rows}, {1});
  batch.num_rows = num_rows;
  batch.global_rows = sampler_.rows_in(step);
  if (pipeline_ == InputPipeline::host) {
    batch.images = images_.take({num_rows, 3, size_, size_}, preprocessor_.strides());
  } else {
    batch.images = pending.pixels;
    batch.windows = pending.windows;
  }
  return pending;
}

void BatchMaker::read(PendingBatch& pending) const {
  std::int64_t* label = pending.batch.labels.mutable_data_ptr<std::int64_t>();
  for (const std::int64_t row : pending.rows)
    *label++ = shards_.labels()[static_cast<std::size_t>(row)];
  if (!reads_in_prepare()) read_pixels(pending, 0, pending.batch.num_rows);
}

// Several workers call it for one batch at a time, each for rows of its own: all that it writes is indexed by the row.
void BatchMaker::prepare(const PendingBatch& pending, std::int64_t first, std::int64_t count) const {
  if (reads_in_prepare()) read_pixels(pending, first, count);
  const TimePoint start = SteadyClock::now();
  if (augmentation_) draw_windows(pending, first, count);
  if (pipeline_ == InputPipeline::host)
    preprocessor_.run(pending.pixels.const_data_ptr<std::uint8_t>(), windows_of(pending.windows), first, count,
                      pending.batch.images);
  if (times_ && (augmentation_ || pipeline_ == InputPipeline::host)) times_->add(LoadingStage::transform, start, 0);
}

void BatchMaker::read_pixels(const PendingBatch& pending, std::int64_t first, std::int64_t count) const {
  if (count == 0) return;
  const auto at = [](std::int64_t number) { return static_cast<std::size_t>(number); };
  const std::int64_t row_bytes = shards_.bytes_per_row();
  std::uint8_t* to = pending.pixels.mutable_data_ptr<std::uint8_t>() + first * row_bytes;
  const TimePoint start = SteadyClock::now();
  shards_.read_rows(std::span(pending.rows).subspan(at(first), at(count)), {to, at(count * row_bytes)});
  if (times_) times_->add(LoadingStage::read, start, count * row_bytes);
}

void BatchMaker::draw_windows(const PendingBatch& pending, std::int64_t first, std::int64_t count) const {
  auto* windows = reinterpret_cast<ImageWindow*>(pending.windows.mutable_data_ptr<std::int32_t>());
  for (std::int64_t i = first; i < first + count; ++i)
    windows[i] = augmentation_->window(pending.batch.epoch, pending.rows[static_cast<std::size_t>(i)]);
}

}  // namespace multicard
