#include "data/ImageLoader.hpp"

#include <algorithm>
#include <atomic>

#include <ATen/ops/empty.h>

namespace multicard {

/// A batch in the making.
struct ImageLoader::Slot {
  ImageBatch batch;
  std::vector<std::uint8_t> bytes;
  std::atomic<std::int64_t> open_rows{0};
  bool ready = false;
};

ImageLoader::ImageLoader(const ImageShards& shards, const Sampler& sampler, const LoaderOptions& options, int rank,
                         int num_ranks, std::int64_t first_step, std::int64_t last_step)
    : shards_(shards),
      sampler_(sampler),
      options_(options),
      rank_(rank),
      num_ranks_(num_ranks),
      next_step_(first_step),
      last_step_(last_step),
      capacity_(block_of(sampler.batch_size(0), rank, num_ranks).count),
      in_float_(options.preprocess),
      in_double_(options.preprocess) {
  if (options_.num_workers == 0) return;
  threads_.emplace_back([this] { read_ahead(); });
  for (int i = 0; i < options_.num_workers; ++i)
    threads_.emplace_back([this] { work(); });
}

ImageLoader::~ImageLoader() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  slot_free_.notify_all();
  job_ready_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

/// A buffer that neither a batch in the making nor a user of an earlier batch holds.
at::Tensor ImageLoader::free_buffer() {
  for (const at::Tensor& buffer : buffers_)
    if (buffer.storage().use_count() == 1) return buffer;
  const std::int64_t size = options_.preprocess.size;
  at::TensorOptions layout = at::TensorOptions().dtype(options_.dtype);
  if (options_.memory == HostMemory::pinned) layout = layout.pinned_memory(true);
  buffers_.push_back(at::empty(
      {std::max<std::int64_t>(capacity_, 1), 3, size, size}, layout,
      options_.preprocess.layout == ImageLayout::nhwc ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous));
  return buffers_.back();
}

/// Reads the bytes and labels of this rank's block of `step`.
void ImageLoader::fill(Slot& slot, std::int64_t step) {
  const std::vector<std::int64_t> rows = sampler_.part(step, rank_, num_ranks_);
  ImageBatch& batch = slot.batch;
  batch.step = step;
  batch.epoch = sampler_.epoch_of(step);
  batch.num_rows = static_cast<std::int64_t>(rows.size());
  batch.global_rows = sampler_.batch_size(step);
  batch.images = free_buffer().narrow(0, 0, batch.num_rows);
  batch.labels = at::empty({batch.num_rows}, at::kLong);
  auto* labels = batch.labels.mutable_data_ptr<std::int64_t>();
  for (std::size_t i = 0; i < rows.size(); ++i)
    labels[i] = shards_.labels()[static_cast<std::size_t>(rows[i])];
  slot.bytes.resize(rows.size() * static_cast<std::size_t>(shards_.info().row_bytes()));
  shards_.read_rows(rows, slot.bytes);
  slot.open_rows = batch.num_rows;
}

void ImageLoader::process(const Job& job) const {
  const std::int64_t size = options_.preprocess.size, values = 3 * size * size, bytes = shards_.info().row_bytes();
  const at::Tensor& images = job.slot->batch.images;
  for (std::int64_t row = job.first; row < job.first + job.count; ++row) {
    const std::uint8_t* image = job.slot->bytes.data() + row * bytes;
    if (options_.dtype == at::kDouble)
      in_double_(image, images.mutable_data_ptr<double>() + row * values);
    else
      in_float_(image, images.mutable_data_ptr<float>() + row * values);
  }
}

void ImageLoader::fail(std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    ending_ = true;
  }
  slot_free_.notify_all();
  job_ready_.notify_all();
  batch_ready_.notify_all();
}

void ImageLoader::read_ahead() {
  constexpr std::int64_t kRowsOfJob = 4;
  try {
    for (std::int64_t step = next_step_; step < last_step_; ++step) {
      std::unique_lock lock(mutex_);
      slot_free_.wait(lock, [this] { return ending_ || static_cast<int>(slots_.size()) < options_.prefetch; });
      if (ending_) return;
      slots_.push_back(std::make_unique<Slot>());
      Slot& slot = *slots_.back();
      lock.unlock();
      fill(slot, step);
      lock.lock();
      slot.ready = slot.batch.num_rows == 0;
      for (std::int64_t first = 0; first < slot.batch.num_rows; first += kRowsOfJob)
        jobs_.push_back({&slot, first, std::min(kRowsOfJob, slot.batch.num_rows - first)});
      lock.unlock();
      job_ready_.notify_all();
      batch_ready_.notify_all();
    }
  } catch (...) {
    fail(std::current_exception());
  }
}

void ImageLoader::work() {
  try {
    for (;;) {
      std::unique_lock lock(mutex_);
      job_ready_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
      if (ending_) return;
      const Job job = jobs_.front();
      jobs_.pop_front();
      lock.unlock();
      process(job);
      if (job.slot->open_rows.fetch_sub(job.count) != job.count) continue;
      lock.lock();
      job.slot->ready = true;
      lock.unlock();
      batch_ready_.notify_all();
    }
  } catch (...) {
    fail(std::current_exception());
  }
}

std::optional<ImageBatch> ImageLoader::next() {
  if (next_step_ >= last_step_) return std::nullopt;
  if (options_.num_workers == 0) {
    Slot slot;
    fill(slot, next_step_++);
    process({&slot, 0, slot.batch.num_rows});
    return std::move(slot.batch);
  }
  std::unique_lock lock(mutex_);
  batch_ready_.wait(lock, [this] { return error_ || (!slots_.empty() && slots_.front()->ready); });
  if (error_) std::rethrow_exception(error_);
  ImageBatch batch = std::move(slots_.front()->batch);
  slots_.pop_front();
  ++next_step_;
  lock.unlock();
  slot_free_.notify_all();
  return batch;
}

}  // namespace multicard
