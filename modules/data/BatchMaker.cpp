#include "data/BatchMaker.hpp"

#include <algorithm>
#include <array>

namespace multicard {

namespace {

using AnyPreprocessor = std::variant<Preprocessor<float>, Preprocessor<double>>;

AnyPreprocessor make_preprocessor(const LoaderOptions& options) {
  if (options.dtype == at::kDouble) return Preprocessor<double>(options.preprocess);
  return Preprocessor<float>(options.preprocess);
}

/// The most rows that a part of a batch has.
std::int64_t most_rows(const Sampler& sampler, int num_ranks) {
  const std::int64_t batch = std::min(sampler.options().global_batch, sampler.options().num_rows);
  return (batch + num_ranks - 1) / num_ranks;
}

}  // namespace

BatchMaker::BatchMaker(const ImageShards& shards, const Sampler& sampler, const LoaderOptions& options, int rank,
                       int num_ranks)
    : shards_(shards),
      sampler_(sampler),
      rank_(rank),
      num_ranks_(num_ranks),
      layout_(options.preprocess.layout),
      size_(options.preprocess.size),
      preprocessor_(make_preprocessor(options)),
      pixels_(most_rows(sampler, num_ranks) * shards.bytes_per_row(), at::kByte, HostMemory::pageable),
      images_(most_rows(sampler, num_ranks) * 3 * size_ * size_, options.dtype, options.memory),
      labels_(most_rows(sampler, num_ranks), at::kLong, options.memory) {}

PendingBatch BatchMaker::begin(std::int64_t step) {
  PendingBatch pending;
  pending.rows = sampler_.part(step, rank_, num_ranks_);
  const auto num_rows = static_cast<std::int64_t>(pending.rows.size());
  const std::int64_t area = size_ * size_;
  using Strides = std::array<std::int64_t, 4>;
  const Strides strides =
      layout_ == ImageLayout::nhwc ? Strides{3 * area, 1, 3 * size_, 3} : Strides{3 * area, area, size_, 1};
  pending.pixels = pixels_.take({num_rows, shards_.bytes_per_row()}, {shards_.bytes_per_row(), 1});
  pending.batch.step = step;
  pending.batch.epoch = sampler_.epoch_of(step);
  pending.batch.images = images_.take({num_rows, 3, size_, size_}, strides);
  pending.batch.labels = labels_.take({num_rows}, {1});
  pending.batch.num_rows = num_rows;
  pending.batch.global_rows = sampler_.rows_in(step);
  return pending;
}

void BatchMaker::read(PendingBatch& pending) const {
  if (pending.rows.empty()) return;
  const auto bytes = pending.rows.size() * static_cast<std::size_t>(shards_.bytes_per_row());
  shards_.read_rows(pending.rows, {pending.pixels.mutable_data_ptr<std::uint8_t>(), bytes});
  std::int64_t* label = pending.batch.labels.mutable_data_ptr<std::int64_t>();
  for (const std::int64_t row : pending.rows)
    *label++ = shards_.labels()[static_cast<std::size_t>(row)];
}

void BatchMaker::prepare(const PendingBatch& pending, std::int64_t first, std::int64_t count) const {
  if (count == 0) return;
  const std::uint8_t* from = pending.pixels.const_data_ptr<std::uint8_t>() + first * shards_.bytes_per_row();
  const auto work = [&]<class T>(const Preprocessor<T>& preprocessor) {
    preprocessor.run(from, count, pending.batch.images.mutable_data_ptr<T>() + first * preprocessor.num_values());
  };
  std::visit(work, preprocessor_);
}

}  // namespace multicard
