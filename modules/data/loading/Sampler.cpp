#include "data/loading/Sampler.hpp"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/Blocks.hpp"
#include "base/Error.hpp"
#include "base/SplitMix64.hpp"

namespace multicard {

// Shared by copies of a sampler: the loader's thread and the trainer ask for the same epoch, and making the order of
// millions of rows takes a while. Callers keep a reference, so that another epoch may replace it meanwhile.
struct Sampler::LastOrder {
  std::mutex mutex;
  std::int64_t epoch = -1;
  std::shared_ptr<const std::vector<std::int64_t>> rows;
};

namespace {

std::int64_t count_steps(const SamplerOptions& options) {
  if (options.num_rows < 1) throw UsageError("there are no rows to make batches of");
  if (options.global_batch < 1)
    throw UsageError(fmt::format("a batch of {} rows is requested", options.global_batch), "", "Use 1 or more.");
  const std::int64_t whole = options.num_rows / options.global_batch;
  if (!options.drop_last) return whole + (options.num_rows % options.global_batch != 0 ? 1 : 0);
  if (whole == 0)
    throw UsageError(fmt::format("an epoch of {} rows has no full batch of {}", options.num_rows, options.global_batch),
                     "the short last batch is left out", "Set data.drop_last=false or use smaller batches.");
  return whole;
}

}  // namespace

Sampler::Sampler(const SamplerOptions& options)
    : options_(options), steps_per_epoch_(count_steps(options)), last_order_(std::make_shared<LastOrder>()) {
  if (!options.sets.empty()) mix_.emplace(options.sets);
}

std::int64_t Sampler::rows_in(std::int64_t step) const {
  const std::int64_t first = step % steps_per_epoch_ * options_.global_batch;
  return std::min(options_.global_batch, options_.num_rows - first);
}

std::vector<std::int64_t> Sampler::rows(std::int64_t step) const {
  return part(step, 0, 1);
}

// Blocks of the step's rows, not every n-th row: the parts of all ranks put together are rows(step) for any number of
// ranks, which is what makes the work of N ranks that of one.
std::vector<std::int64_t> Sampler::part(std::int64_t step, int rank, int num_ranks) const {
  const Block block = block_of(rows_in(step), rank, num_ranks);
  const std::int64_t first = step % steps_per_epoch_ * options_.global_batch + block.first;
  std::vector<std::int64_t> mine(static_cast<std::size_t>(block.count));
  if (!options_.shuffle && !mix_) {
    std::iota(mine.begin(), mine.end(), first);
  } else if (!mine.empty()) {
    const auto order = order_of(epoch_of(step));
    std::copy_n(order->begin() + first, block.count, mine.begin());
  }
  return mine;
}

std::shared_ptr<const std::vector<std::int64_t>> Sampler::order_of(std::int64_t epoch) const {
  const std::lock_guard lock(last_order_->mutex);
  if (last_order_->epoch != epoch) {
    std::vector<std::int64_t> rows;
    if (mix_) {
      rows = mix_->rows(epoch, options_.seed, options_.shuffle ? RowOrder::shuffled : RowOrder::as_stored);
    } else {
      rows.resize(static_cast<std::size_t>(options_.num_rows));
      std::iota(rows.begin(), rows.end(), std::int64_t{0});
    }
    // 0 is the purpose "order of rows"; augmentation has 1 and the passes of a mix 2 (Augmentation.cpp,
    // DatasetMixture.cpp). Checkpoints rely on these values: another one would change the rows of a resumed run.
    const std::uint64_t key = splitmix64(splitmix64(options_.seed, 0), static_cast<std::uint64_t>(epoch));
    if (options_.shuffle) shuffle_rows(rows, key);
    last_order_->rows = std::make_shared<const std::vector<std::int64_t>>(std::move(rows));
    last_order_->epoch = epoch;
  }
  return last_order_->rows;
}

}  // namespace multicard
