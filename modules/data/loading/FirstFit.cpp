#include "data/loading/FirstFit.hpp"

#include <algorithm>
#include <bit>

namespace multicard {

namespace {

/// The room of all packs as a tree of maxima, so that the first pack with enough of it is found from the root.
class Rooms {
 public:
  Rooms(std::size_t most_packs, std::int64_t capacity)
      : first_leaf_(std::bit_ceil(std::max<std::size_t>(1, most_packs))), largest_(2 * first_leaf_, capacity) {}

  // Descends to the left child wherever its maximum suffices, which ends at the first pack that has room; then repairs
  // the maxima on the way up. A leaf always exists, since there are as many packs as items and each item fits an empty
  // one.
  std::size_t take_first(std::int64_t length) {
    std::size_t node = 1;
    while (node < first_leaf_)
      node = 2 * node + (largest_[2 * node] >= length ? 0 : 1);
    const std::size_t pack = node - first_leaf_;
    largest_[node] -= length;
    while ((node /= 2) > 0)
      largest_[node] = std::max(largest_[2 * node], largest_[2 * node + 1]);
    return pack;
  }

 private:
  std::size_t first_leaf_;
  std::vector<std::int64_t> largest_;
};

}  // namespace

std::vector<std::size_t> first_fit(std::span<const std::int64_t> lengths, std::int64_t capacity) {
  // A pack that was not begun has all its room: the first of them is what "else a new one" means.
  Rooms rooms(lengths.size(), capacity);
  std::vector<std::size_t> packs;
  packs.reserve(lengths.size());
  for (const std::int64_t length : lengths)
    packs.push_back(rooms.take_first(length));
  return packs;
}

}  // namespace multicard
