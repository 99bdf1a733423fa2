// Ranges of bytes that change their ranks.
#include "dist/RangeExchange.hpp"

#include <map>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

constexpr std::uint64_t kLength = 1000;

std::byte value_at(const std::string& name, std::uint64_t place) {
  return static_cast<std::byte>(7 * name.size() + 13 * place);
}

/// Of a rank: memory, and the ranges in it.
struct Bytes {
  void add(const std::string& name, std::uint64_t first, std::uint64_t end, bool is_filled) {
    std::vector<std::byte>& memory = memories.emplace_back(end - first);
    for (std::uint64_t i = 0; i < memory.size() && is_filled; ++i)
      memory[i] = value_at(name, first + i);
    names.push_back(name);
    firsts.push_back(first);
  }
  template <class Ranges>
  Ranges ranges() {
    Ranges ranges;
    for (std::size_t i = 0; i < memories.size(); ++i)
      ranges.push_back({names[i], firsts[i], memories[i]});
    return ranges;
  }

  std::vector<std::vector<std::byte>> memories;
  std::vector<std::string> names;
  std::vector<std::uint64_t> firsts;
};

void expect_filled(const Bytes& bytes) {
  for (std::size_t i = 0; i < bytes.memories.size(); ++i)
    for (std::uint64_t at = 0; at < bytes.memories[i].size(); ++at)
      ASSERT_EQ(bytes.memories[i][at], value_at(bytes.names[i], bytes.firsts[i] + at)) << bytes.names[i] << " " << at;
}

/// The part of `rank` of `num_ranks`, of unequal sizes.
std::pair<std::uint64_t, std::uint64_t> part_of(int rank, int num_ranks) {
  const auto cut = [&](int i) { return kLength * static_cast<std::uint64_t>(i * i) / (num_ranks * num_ranks); };
  return {cut(rank), cut(rank + 1)};
}

TEST(RangeExchange, CutsAnewForOtherRanks) {
  const int size = world().size(), rank = world().rank();
  for (int before = 1; before <= size; ++before)
    for (int after = 1; after <= size; ++after) {
      Bytes held, wanted;
      for (const std::string name : {"weight", "exp_avg.weight"}) {
        if (const auto [first, end] = part_of(rank, before); rank < before) held.add(name, first, end, true);
        // The last ranks, in the other order.
        const int place = size - 1 - rank;
        if (const auto [first, end] = part_of(place, after); place < after) wanted.add(name, first, end, false);
      }
      exchange_ranges(held.ranges<HeldRanges>(), wanted.ranges<WantedRanges>(), world());
      expect_filled(wanted);
    }
}

TEST(RangeExchange, GivesWholesFromCopies) {
  Bytes held, wanted;
  held.add("copied", 0, kLength, true);  // by all ranks
  wanted.add("copied", 0, kLength, false);
  wanted.add("copied", 100, 100, false);
  exchange_ranges(held.ranges<HeldRanges>(), wanted.ranges<WantedRanges>(), world());
  expect_filled(wanted);
}

TEST(RangeExchange, NamesWhatNoRankHolds) {
  Bytes held, wanted;
  held.add("weight", 0, 10, true);
  if (world().rank() == world().size() - 1) wanted.add("weight", 5, 11, false);
  EXPECT_THROW(exchange_ranges(held.ranges<HeldRanges>(), wanted.ranges<WantedRanges>(), world()), std::logic_error);
}

}  // namespace
}  // namespace multicard
