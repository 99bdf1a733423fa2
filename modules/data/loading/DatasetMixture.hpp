#pragma once
/// \file Rows of several sets in the proportions of their weights.

#include <cstdint>
#include <vector>

namespace multicard {

/// One of the sets that rows are mixed from.
struct MixedSet {
  std::int64_t num_rows = 0;
  double weight = 1;
};

/// Whether the order of rows is random.
enum class RowOrder { shuffled, as_stored };

/// Which rows an epoch of a mix has. Rows are numbered through all sets, one set after the other. An epoch has as many
/// rows as all sets together, N; set i gives share_i = N weight_i / (sum of weights) of them, rounded by largest
/// remainders to whole rows that add up to N, the first sets before others where remainders are equal.
///
/// Each set has an endless sequence of its rows: pass 0, pass 1, ..., each of which has every row once. Epoch e takes
/// the places e share_i to (e + 1) share_i - 1 of it. So no row of a set comes again before all its rows have come, a
/// small set repeats within an epoch, and a large one continues in the next epoch. Pass p is a Fisher-Yates shuffle as
/// in Sampler.hpp, with key = splitmix64(splitmix64(splitmix64(seed, 2), i), p).
///
/// A function of its arguments alone; integers only beyond the shares.
class DatasetMixture {
 public:
  /// \throws UsageError for a set without a row in an epoch, and for a weight that is not a number above 0
  explicit DatasetMixture(std::vector<MixedSet> sets);

  /// Rows that each set gives an epoch.
  const std::vector<std::int64_t>& shares() const { return shares_; }
  /// The rows of an epoch. As stored: sets take turns, evenly spread over the epoch (row k is of the set that lacks
  /// most of its share (k + 1) share_i / N, the first of equals), and every pass is in the order of the set. Shuffled:
  /// set by set; the order is not random yet.
  std::vector<std::int64_t> rows(std::int64_t epoch, std::uint64_t seed, RowOrder order) const;

 private:
  std::vector<std::int64_t> part_of(std::size_t set, std::int64_t epoch, std::uint64_t seed, RowOrder order) const;
  std::vector<std::int64_t> in_turns(const std::vector<std::vector<std::int64_t>>& parts) const;

  std::vector<MixedSet> sets_;
  std::vector<std::int64_t> first_rows_, shares_;
  std::int64_t num_rows_ = 0;
};

/// Fisher-Yates: for i = size - 1 down to 1, row i changes places with row below(splitmix64(key, i), i + 1).
void shuffle_rows(std::vector<std::int64_t>& rows, std::uint64_t key);

}  // namespace multicard
