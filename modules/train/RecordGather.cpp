#include "train/RecordGather.hpp"

#include <string>

namespace multicard {

std::vector<RankRecord> RecordGather::gather(const RankRecord& record) {
  const std::vector<std::string> all = communicator_.allgather(to_bytes(tail_of(record, num_sent_)));
  num_sent_ = record.steps.size();
  std::vector<RankRecord> pieces;
  if (communicator_.is_root())
    for (const std::string& bytes : all)
      pieces.push_back(record_from_bytes(bytes));
  return pieces;
}

}  // namespace multicard
