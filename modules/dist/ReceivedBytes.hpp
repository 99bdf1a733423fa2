#pragma once
/// \file How fast data came from other nodes.

#include <map>
#include <mutex>

namespace multicard {

/// What came from one rank, and in which time: from the first message of an all-reduce to its last, so that a rank that
/// comes late is not taken for a slow link.
struct ReceivedTotals {
  double bytes = 0, seconds = 0;
};

/// By the sending rank.
using ReceivedByRank = std::map<int, ReceivedTotals>;

/// Adds up what arrives; any thread.
class ReceivedCounter {
 public:
  void add(int rank, const ReceivedTotals& received);
  ReceivedByRank totals() const;

 private:
  mutable std::mutex mutex_;
  ReceivedByRank totals_;
};

}  // namespace multicard
