#include "device/AllocationTrace.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

/// From a list of what is taken; -N gives the newest that has N bytes back.
AllocationTrace trace_of(const std::vector<std::int64_t>& changes) {
  static const std::vector<char> memory(1000);
  AllocationTrace trace;
  std::vector<std::int64_t> held;
  for (const std::int64_t change : changes) {
    if (change > 0) {
      trace.allocate(&memory[held.size()], change);
      held.push_back(change);
      continue;
    }
    const auto newest = std::find(held.rbegin(), held.rend(), -change);
    trace.release(&memory[static_cast<std::size_t>(held.rend() - newest) - 1]);
    *newest = 0;
  }
  return trace;
}

TEST(AllocationTrace, PeakIsTheMostHeldAtATime) {
  EXPECT_EQ(AllocationTrace().peak(), 0);
  EXPECT_EQ(trace_of({10, 5, -10, 3, -5}).peak(), 15);
}

TEST(AllocationTrace, ForgetsWhatWasThereBefore) {
  AllocationTrace trace;
  const char older = 0, newer = 0;
  trace.release(&older);
  trace.allocate(&newer, 7);
  EXPECT_EQ(trace.peak(), 7);
  EXPECT_EQ(trace.num_allocations(), 1U);
}

TEST(AllocationTrace, KnowsWhatIsGivenBackAtOnce) {
  const AllocationTrace trace = trace_of({10, 300, -300, 20, -10, -20});
  EXPECT_FALSE(trace.is_transient(0));
  EXPECT_TRUE(trace.is_transient(1));
  EXPECT_FALSE(trace.is_transient(2));
}

// A constant of 1000 beside 10 a row, and later 25 a row alone: the peak of few rows lies where the constant is.
MeasuredWork work_on(std::int64_t rows) {
  return {rows, trace_of({10 * rows, 1000, -1000, 15 * rows})};
}

TEST(AllocationTrace, ExtrapolatesWhereThePeakMoves) {
  for (const std::int64_t rows : {1, 2, 3, 50, 500})
    EXPECT_EQ(extrapolated_peak(work_on(2), work_on(3), rows), work_on(rows).trace.peak()) << rows;
  EXPECT_EQ(extrapolated_peak(work_on(2), work_on(3), 500), 25 * 500);  // the line through two peaks gives 6,000
}

TEST(AllocationTrace, MatchesTracesOfOtherLength) {
  const MeasuredWork with_workspace{2, trace_of({20, 300, -300, 40})}, without{4, trace_of({40, 80})};
  EXPECT_EQ(extrapolated_peak(with_workspace, without, 10), 300);

  const MeasuredWork plain{2, trace_of({20, 500, 40})}, staged{4, trace_of({40, 8, 500, 16, -16, 80})};
  EXPECT_EQ(extrapolated_peak(plain, staged, 10), 100 + 20 + 500 + 200);  // 8 is proportional

  const MeasuredWork less{2, trace_of({20, 40})}, more{4, trace_of({40, 1000, -1000, 80})};
  EXPECT_EQ(extrapolated_peak(less, more, 10), 100 + 1000);  // a workspace is constant
}

}  // namespace
}  // namespace multicard
