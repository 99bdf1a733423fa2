#pragma once
/// \file All-reduce between nodes over MPI, by messages; for modules/dist only.

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "comm/Communicator.hpp"
#include "dist/ReceivedBytes.hpp"

namespace multicard {

/// All-reduces arrays too large for latency to matter. Each of the N ranks adds one part of all ranks' arrays, in rank
/// order, and sends the sum to all: 2 (N - 1) / N of the bytes leave each rank, as in a ring, but sums have the same
/// bits as those of RankOrderReduce, and both directions of a link are busy all the time.
class SegmentedAllReduce {
 public:
  /// Writes the sum of `count` elements of all `sources`, one for each rank, to `target`, which is one of them.
  using Add = std::function<void(const std::vector<std::byte*>& sources, std::byte* target, std::size_t count)>;

  /// \param counter null: nothing is counted
  explicit SegmentedAllReduce(const Communicator& communicator, std::shared_ptr<ReceivedCounter> counter = nullptr)
      : communicator_(communicator), counter_(std::move(counter)) {}

  /// Collective. In place, over `count` elements of `width` bytes; less than 1 GB.
  void all_reduce(std::byte* data, std::size_t count, std::size_t width, const Add& add);

 private:
  Communicator communicator_;
  std::shared_ptr<ReceivedCounter> counter_;
  std::vector<std::byte> received_;  ///< the own part of other ranks' arrays, one after the other
};

}  // namespace multicard
