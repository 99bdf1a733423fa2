#pragma once
/// \file Which rows make up which batch.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/loading/DatasetMixture.hpp"

namespace multicard {

struct SamplerOptions {
  std::int64_t num_rows = 0;
  std::int64_t global_batch = 1;  ///< rows of a step over all ranks
  std::uint64_t seed = 1;
  bool shuffle = true;     ///< a new order in every epoch; false: the order of the shards
  bool drop_last = false;  ///< leave out the rows of an epoch that fill no whole batch
  /// Sets that are mixed by their weights, whose rows follow each other and are num_rows together. Empty: one set, of
  /// which every epoch has every row once.
  std::vector<MixedSet> sets = {};
};

/// The order of rows as a function of the options and the step alone: nothing is carried along, so any step can be
/// asked for first, on any number of ranks. Epoch e is a Fisher-Yates shuffle: for i = num_rows - 1 down to 1, row i
/// changes places with row below(splitmix64(key, i), i + 1), where key = splitmix64(splitmix64(seed, 0), e) (see
/// SplitMix64.hpp). Integers only: the same on every machine. With several sets what is shuffled are the rows that
/// DatasetMixture gives the epoch. Any thread may use it.
class Sampler {
 public:
  /// \throws UsageError for no rows, a batch below 1, or drop_last with fewer rows than a batch; as DatasetMixture.
  explicit Sampler(const SamplerOptions& options);

  const SamplerOptions& options() const { return options_; }
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }
  /// How several sets are mixed; none for a single one.
  const std::optional<DatasetMixture>& mix() const { return mix_; }
  std::int64_t epoch_of(std::int64_t step) const { return step / steps_per_epoch_; }
  /// Rows of the global batch of `step`.
  std::int64_t rows_in(std::int64_t step) const;

  /// Row numbers of the global batch of `step`.
  std::vector<std::int64_t> rows(std::int64_t step) const;
  /// The rank-th consecutive block of rows(step) (see block_of); may be empty.
  std::vector<std::int64_t> part(std::int64_t step, int rank, int num_ranks) const;

 private:
  struct LastOrder;
  std::shared_ptr<const std::vector<std::int64_t>> order_of(std::int64_t epoch) const;

  SamplerOptions options_;
  std::int64_t steps_per_epoch_;
  std::optional<DatasetMixture> mix_;
  std::shared_ptr<LastOrder> last_order_;  ///< an epoch's order is kept until another is asked for
};

}  // namespace multicard
