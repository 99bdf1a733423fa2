#pragma once
/// \file Which ranks of a job a task has.

#include <compare>
#include <cstddef>
#include <string>
#include <vector>

namespace multicard {

/// Ranks of the job, each once, in rising order; they need not be consecutive.
class RankSet {
 public:
  RankSet() = default;
  /// `count` consecutive ones.
  RankSet(int first, int count);
  explicit RankSet(std::vector<int> ranks);

  int count() const { return static_cast<int>(ranks_.size()); }
  /// The lowest; 0 where there is none.
  int first() const { return ranks_.empty() ? 0 : ranks_.front(); }
  bool empty() const { return ranks_.empty(); }
  const std::vector<int>& ranks() const { return ranks_; }
  bool contains(int rank) const;
  bool overlaps(const RankSet& other) const;
  /// "0-2, 5"; empty where there is none.
  std::string text() const;

  bool operator==(const RankSet&) const = default;
  auto operator<=>(const RankSet&) const = default;  // NOLINT(modernize-use-nullptr): compares with 0, which is its own

 private:
  std::vector<int> ranks_;
};

/// For each of `num_ranks` ranks which of the sets, which overlap nowhere, has it; -1: none.
std::vector<int> owners_of(const std::vector<RankSet>& sets, int num_ranks);
/// The `number` sets that owners_of() says.
std::vector<RankSet> sets_of(const std::vector<int>& owners, std::size_t number);

}  // namespace multicard
