#include "data/Sampler.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t state) : state_(state) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Uniform in [0, bound): values that would make it uneven are drawn again.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t threshold = -bound % bound;
    for (;;)
      if (const std::uint64_t value = next(); value >= threshold) return value % bound;
  }

 private:
  std::uint64_t state_;
};

std::int64_t count_steps(const SamplerOptions& options) {
  if (options.num_rows < 1) throw UsageError("there are no rows to sample");
  if (options.global_batch < 1)
    throw UsageError(fmt::format("a batch of {} rows is not possible", options.global_batch));
  const std::int64_t whole = options.num_rows / options.global_batch;
  const bool has_rest = options.num_rows % options.global_batch != 0;
  const std::int64_t steps = whole + (has_rest && !options.drop_last ? 1 : 0);
  if (steps == 0)
    throw UsageError(fmt::format("data.drop_last leaves no batch of {} rows", options.global_batch),
                     fmt::format("there are only {} rows", options.num_rows), "Lower run.global_batch.");
  return steps;
}

}  // namespace

Block block_of(std::int64_t count, int rank, int num_ranks) {
  const std::int64_t share = count / num_ranks, extra = count % num_ranks;
  return {rank * share + std::min<std::int64_t>(rank, extra), share + (rank < extra ? 1 : 0)};
}

Sampler::Sampler(const SamplerOptions& options) : options_(options), steps_per_epoch_(count_steps(options)) {}

std::int64_t Sampler::batch_size(std::int64_t step) const {
  const std::int64_t first = step % steps_per_epoch_ * options_.global_batch;
  return std::min(options_.global_batch, options_.num_rows - first);
}

std::vector<std::int64_t> Sampler::batch(std::int64_t step) const {
  return slice(step, {0, batch_size(step)});
}

std::vector<std::int64_t> Sampler::part(std::int64_t step, int rank, int num_ranks) const {
  return slice(step, block_of(batch_size(step), rank, num_ranks));
}

std::vector<std::int64_t> Sampler::slice(std::int64_t step, const Block& block) const {
  const std::int64_t first = step % steps_per_epoch_ * options_.global_batch + block.first;
  std::vector<std::int64_t> rows(static_cast<std::size_t>(block.count));
  if (!options_.shuffle) {
    std::iota(rows.begin(), rows.end(), first);
  } else {
    const auto all = order(epoch_of(step));
    std::copy_n(all->begin() + first, block.count, rows.begin());
  }
  return rows;
}

std::shared_ptr<const std::vector<std::int64_t>> Sampler::order(std::int64_t epoch) const {
  const std::lock_guard lock(mutex_);
  if (cached_epoch_ == epoch) return cached_order_;
  auto rows = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(options_.num_rows));
  std::iota(rows->begin(), rows->end(), std::int64_t{0});
  SplitMix64 random(SplitMix64(options_.seed).next() ^ static_cast<std::uint64_t>(epoch));
  for (std::size_t i = rows->size() - 1; i > 0; --i)
    std::swap((*rows)[i], (*rows)[random.below(i + 1)]);
  cached_epoch_ = epoch;
  cached_order_ = rows;
  return rows;
}

}  // namespace multicard
