#include "data/loading/DatasetMixture.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/SplitMix64.hpp"

namespace multicard {

namespace {

constexpr std::uint64_t kPassPurpose = 2;  // of the seed

/// Whole numbers that add up to `total`, in the proportions of the weights. Largest remainders (Hamilton's method).
/// Pairs compare by the index where remainders are equal, which makes the result independent of the sorting algorithm.
std::vector<std::int64_t> shares_of(const std::vector<MixedSet>& sets, std::int64_t total) {
  double all_weights = 0;
  for (const MixedSet& set : sets)
    all_weights += set.weight;
  std::vector<std::int64_t> shares;
  std::vector<std::pair<double, std::size_t>> remainders;  // negative, so that the largest come first
  std::int64_t left = total;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const double exact = static_cast<double>(total) * (sets[i].weight / all_weights), whole = std::floor(exact);
    shares.push_back(static_cast<std::int64_t>(whole));
    remainders.emplace_back(whole - exact, i);
    left -= shares.back();
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::size_t i = 0; left > 0; i = (i + 1) % remainders.size(), --left)
    ++shares[remainders[i].second];
  return shares;
}

}  // namespace

DatasetMixture::DatasetMixture(std::vector<MixedSet> sets) : sets_(std::move(sets)) {
  for (const MixedSet& set : sets_) {
    if (!(set.weight > 0) || !std::isfinite(set.weight))
      throw UsageError(fmt::format("the weight {} of a set of data.train is not a number above 0", set.weight));
    first_rows_.push_back(num_rows_);
    num_rows_ += set.num_rows;
  }
  shares_ = shares_of(sets_, num_rows_);
  for (std::size_t i = 0; i < sets_.size(); ++i)
    if (shares_[i] < 1)
      throw UsageError(fmt::format("an epoch of {} rows has none of set {} of data.train", num_rows_, i + 1),
                       fmt::format("its weight {} is too small relative to the others", sets_[i].weight),
                       "Raise it, or leave the set out.");
}

// Places run on through all epochs: place / size is the pass, place % size the position in it. An epoch may begin
// within a pass, and may need several.
std::vector<std::int64_t> DatasetMixture::part_of(std::size_t set, std::int64_t epoch, std::uint64_t seed,
                                                  RowOrder order) const {
  const std::int64_t size = sets_[set].num_rows, begin = epoch * shares_[set], end = begin + shares_[set];
  const std::uint64_t key = splitmix64(splitmix64(seed, kPassPurpose), set);
  std::vector<std::int64_t> part, pass(static_cast<std::size_t>(size));
  for (std::int64_t place = begin; place < end;) {
    const std::int64_t number = place / size, first = place % size, count = std::min(end - place, size - first);
    std::iota(pass.begin(), pass.end(), first_rows_[set]);
    if (order == RowOrder::shuffled) shuffle_rows(pass, splitmix64(key, static_cast<std::uint64_t>(number)));
    part.insert(part.end(), pass.begin() + first, pass.begin() + first + count);
    place += count;
  }
  return part;
}

std::vector<std::int64_t> DatasetMixture::in_turns(const std::vector<std::vector<std::int64_t>>& parts) const {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> given(parts.size(), 0);
  for (std::int64_t k = 1; k <= num_rows_; ++k) {
    std::size_t next = 0;
    // share * k / N - given, multiplied by N to stay in whole numbers.
    const auto deficit = [&](std::size_t set) { return shares_[set] * k - given[set] * num_rows_; };
    for (std::size_t set = 1; set < parts.size(); ++set)
      if (deficit(set) > deficit(next)) next = set;
    rows.push_back(parts[next][static_cast<std::size_t>(given[next]++)]);
  }
  return rows;
}

std::vector<std::int64_t> DatasetMixture::rows(std::int64_t epoch, std::uint64_t seed, RowOrder order) const {
  std::vector<std::vector<std::int64_t>> parts;
  for (std::size_t set = 0; set < sets_.size(); ++set)
    parts.push_back(part_of(set, epoch, seed, order));
  if (order == RowOrder::as_stored) return in_turns(parts);
  std::vector<std::int64_t> rows;
  for (const std::vector<std::int64_t>& part : parts)
    rows.insert(rows.end(), part.begin(), part.end());
  return rows;
}

// The random number of a place depends on key and place alone, not on the numbers before it.
void shuffle_rows(std::vector<std::int64_t>& rows, std::uint64_t key) {
  for (std::size_t i = rows.size(); i-- > 1;)
    std::swap(rows[i], rows[below(splitmix64(key, i), i + 1)]);
}

}  // namespace multicard
