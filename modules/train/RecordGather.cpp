#include "train/RecordGather.hpp"

#include <string>

namespace multicard {

std::vector<RankRecord> RecordGather::gather(const RankRecord& record) {
  // All ranks get the pieces, which only rank 0 needs: they are small, and gathering texts is one operation.
  const std::vector<std::string> all = communicator_.allgather(to_bytes(tail_of(record, num_sent_)));
  num_sent_ = record.steps.size();
  std::vector<RankRecord> pieces;
  if (communicator_.is_root())
    for (const std::string& bytes : all)
      pieces.push_back(record_from_bytes(bytes));
  return pieces;
}

}  // namespace multicard
