#pragma once
/// \file Bringing the records of all ranks together on rank 0, a piece at a time.

#include <cstddef>
#include <utility>
#include <vector>

#include "comm/Communicator.hpp"
#include "results/RankRecord.hpp"

namespace multicard {

/// Sends what is new of each rank's record to rank 0, which appends it to what has been gathered (append()).
class RecordGather {
 public:
  explicit RecordGather(Communicator communicator) : communicator_(std::move(communicator)) {}

  /// Collective. On rank 0 the pieces of all ranks: the steps and samples since the last call, and all totals as they
  /// stand. On other ranks nothing.
  std::vector<RankRecord> gather(const RankRecord& record);

 private:
  Communicator communicator_;
  RecordLength sent_;
};

}  // namespace multicard
