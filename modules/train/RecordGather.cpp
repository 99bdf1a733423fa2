#include "train/RecordGather.hpp"

#include <string>

namespace multicard {

std::vector<RankRecord> RecordGather::gather(const RankRecord& record) {
  const std::vector<std::string> all = communicator_.gather(to_bytes(tail_of(record, sent_)));
  sent_ = length_of(record);
  std::vector<RankRecord> pieces;
  pieces.reserve(all.size());
  for (const std::string& bytes : all)
    pieces.push_back(record_from_bytes(bytes));
  return pieces;
}

}  // namespace multicard
