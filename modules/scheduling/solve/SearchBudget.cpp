#include "scheduling/solve/SearchBudget.hpp"

#include <algorithm>

namespace multicard {

namespace {

constexpr std::int64_t kOperationsPerReading = 10'000'000;  ///< of the clock: some milliseconds

}  // namespace

bool SearchBudget::take(std::int64_t operations) {
  if (is_spent()) {
    reach_limit();
    return false;
  }
  left_ -= operations;
  // Work is the same on all machines and its limit gives the same plans; time only guards against a slow machine.
  until_clock_ -= operations;
  if (until_clock_ <= 0) {
    until_clock_ = kOperationsPerReading;
    if (seconds_left() <= 0) {
      end_ = SearchEnd::time_limit;
      return false;
    }
  }
  return true;
}

void SearchBudget::reach_limit() {
  // In the order of severity: a time limit that was reached before remains the reason.
  end_ = std::max(end_, SearchEnd::work_limit);
}

}  // namespace multicard
