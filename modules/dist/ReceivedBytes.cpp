#include "dist/ReceivedBytes.hpp"

namespace multicard {

void ReceivedCounter::add(int rank, const ReceivedTotals& received) {
  const std::lock_guard lock(mutex_);
  ReceivedTotals& total = totals_[rank];
  total.bytes += received.bytes;
  total.seconds += received.seconds;
}

ReceivedByRank ReceivedCounter::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

}  // namespace multicard
