#pragma once
/// \file Bringing the records of all ranks together on rank 0, a piece at a time.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "comm/Communicator.hpp"
#include "results/Columns.hpp"

namespace multicard {

/// Sends what is new of each rank's record to rank 0.
class RecordGather {
 public:
  explicit RecordGather(Communicator communicator) : communicator_(std::move(communicator)) {}

  /// Collective. On rank 0 the pieces of all ranks: the steps since the last call, and all totals as they stand. On
  /// other ranks nothing.
  std::vector<RankRecord> gather(const RankRecord& record);

 private:
  Communicator communicator_;
  std::size_t num_sent_ = 0;  ///< steps
};

/// Adds a piece to what has been gathered: its steps are appended, its totals replace the old ones.
void append(RankRecord& gathered, RankRecord piece);

/// \name A record as bytes, for the same program on another rank
/// @{
std::string to_bytes(const RankRecord& record);
/// \throws CommunicationError when bytes are missing or left over.
RankRecord record_from_bytes(std::string_view bytes);
/// @}

}  // namespace multicard
