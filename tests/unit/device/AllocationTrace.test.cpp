#include "device/AllocationTrace.hpp"

#include <algorithm>
#include <array>

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

// A constant of 1000 and 10 a row, and later 25 a row alone: the peak of few rows lies where the constant is.
MeasuredWork work_on(std::int64_t rows) {
  return {rows, trace_of({10 * rows, 1000, -1000, 15 * rows})};
}

TEST(AllocationTrace, ExtrapolatesWhereThePeakMoves) {
  for (const std::int64_t rows : {1, 2, 3, 50, 500})
    EXPECT_EQ(MeasuredPair(work_on(2), work_on(3)).peak(rows), work_on(rows).trace.peak()) << rows;
  EXPECT_EQ(MeasuredPair(work_on(2), work_on(3)).peak(500), 25 * 500);  // the line through two peaks gives 6,000
}

TEST(AllocationTrace, MatchesTracesOfOtherLength) {
  const MeasuredWork with_workspace{2, trace_of({20, 300, -300, 40})}, without{4, trace_of({40, 80})};
  EXPECT_EQ(MeasuredPair(with_workspace, without).peak(10), 300);

  const MeasuredWork plain{2, trace_of({20, 500, 40})}, staged{4, trace_of({40, 8, 500, 16, -16, 80})};
  EXPECT_EQ(MeasuredPair(plain, staged).peak(10), 100 + 20 + 500 + 200);  // 8 is proportional

  const MeasuredWork less{2, trace_of({20, 40})}, more{4, trace_of({40, 1000, -1000, 80})};
  EXPECT_EQ(MeasuredPair(less, more).peak(10), 100 + 1000);  // a workspace is constant
}

// Of each token 10 bytes of activations; of each target 2 of hidden rows and 100 of logits; backward takes 30 a token.
MeasuredWork loss_on(std::int64_t tokens) {
  static const std::array<char, 4> memory{};
  AllocationTrace trace;
  trace.allocate(&memory[0], 10 * tokens);
  trace.allocate(&memory[1], 2 * tokens, WorkStage::logits);
  trace.allocate(&memory[2], 100 * tokens, WorkStage::logits);
  trace.release(&memory[2]);
  trace.allocate(&memory[3], 30 * tokens, WorkStage::backward);
  return {tokens, trace};
}

TEST(AllocationTrace, LogitsGrowWithTheTargetsOfAChunk) {
  const MeasuredPair pair(loss_on(2), loss_on(4), 100);
  StageBytes expected;
  expected[WorkStage::forward] = 10 * 50;
  expected[WorkStage::logits] = 2 * 40 + 100 * 20;
  EXPECT_EQ(pair.at_peak({50, 40, 20}), expected);
  expected[WorkStage::logits] = 2 * 40 + 100 * 40;
  EXPECT_EQ(pair.at_peak({50, 40}), expected);
  expected[WorkStage::logits] = 2 * 5;
  expected[WorkStage::backward] = 30 * 50;
  EXPECT_EQ(pair.at_peak({50, 5}), expected) << "few targets: the peak is in backward";
  EXPECT_EQ(pair.before_backward({50, 5}).total(), 10 * 50 + 2 * 5);
}

}  // namespace
}  // namespace multicard
