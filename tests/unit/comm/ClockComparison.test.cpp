#include "comm/ClockComparison.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

std::int64_t true_time() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::steady_clock;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

/// What the clock of a rank shows at a true time: it is wrong by up to 5 ms, and by up to 50 millionths of the time
/// since `start`.
std::int64_t shown_by(int rank, std::int64_t start, std::int64_t time) {
  const double offset = 5e6 * std::cos(rank), drift = 50e-6 * std::sin(2.0 * rank + 1);
  return time + std::llround(offset + drift * static_cast<double>(time - start));
}

ClockFunction false_clock(int rank, std::int64_t start) {
  return [=] { return shown_by(rank, start, true_time()); };
}

/// Compares false clocks, and returns the largest bound of the error over ranks; what is off by more is a failure.
std::int64_t compare_false_clocks() {
  const int rank = world().rank();
  const std::int64_t start = world().broadcast_value(true_time());  // one node: its ranks have one true clock
  const ClockFunction clock = false_clock(rank, start);
  ClockComparison comparison(world(), clock);
  std::vector<std::int64_t> times;
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    times.push_back(true_time());
  }
  const CommonClock common = comparison.finish();
  constexpr std::int64_t kRounding = 5;
  for (const std::int64_t time : times)
    EXPECT_LE(std::abs(common.common(shown_by(rank, start, time)) - shown_by(0, start, time)),
              common.error() + kRounding)
        << "rank " << rank;
  return world().allreduce(common.error(), ReduceOp::max);
}

/// The median of many sums over all ranks: what this machine needs for a message now. The shortest would say what it
/// needs when no other program has the cores, which the few questions of a comparison may not meet with.
std::int64_t usual_sum() {
  std::vector<std::int64_t> sums;
  for (int round = 0; round < 201; ++round) {
    const std::int64_t before = true_time();
    world().allreduce(before, ReduceOp::max);
    sums.push_back(true_time() - before);
  }
  std::nth_element(sums.begin(), sums.begin() + 100, sums.end());
  return world().allreduce(sums[100], ReduceOp::max);
}

TEST(ClockComparison, FindsOffsetsAndDriftsOfFalseClocks) {
  std::int64_t error = compare_false_clocks();
  // Ranks that share a core answer when it is their turn, and sanitizers make answers slow.
  if (kIsSanitized || world().size() > static_cast<int>(std::thread::hardware_concurrency())) return;
  // The bound is half a round trip; a sum is one trip at least. How long a trip takes is the machine's.
  std::int64_t allowed = 4 * usual_sum();
  for (int again = 0; again < 50 && error > allowed; ++again) {  // other programs may have had the cores
    error = compare_false_clocks();
    allowed = 4 * usual_sum();
  }
  EXPECT_LE(error, allowed);
}

TEST(ClockComparison, LeavesTheClockOfTheFirstRankAsItIs) {
  ClockComparison comparison(world(), true_time);

  const CommonClock common = comparison.finish();

  if (world().is_root()) {
    EXPECT_EQ(common.common(123456789), 123456789);
  }
}

TEST(ClockLine, IsLinearBetweenAndBeyondItsReadings) {
  const ClockLine line({1000, 50, 10}, {3000, 60, 30});

  EXPECT_EQ(line.other(1000), 1050);
  EXPECT_EQ(line.other(2000), 2055);
  EXPECT_EQ(line.other(5000), 5070);
  EXPECT_EQ(line.error(), 15);
}

TEST(CommonClock, GoesThroughTheClockOfTheNode) {
  const CommonClock clock(ClockLine({0, 100, 4}, {1000, 100, 2}), ClockLine({0, 7, 20}, {1000, 7, 18}));

  EXPECT_EQ(clock.common(500), 607);
  EXPECT_EQ(clock.error(), 12);
}

TEST(Communicator, ShiftsTextsToTheNextRank) {
  const int rank = world().rank(), size = world().size();
  const std::string mine(static_cast<std::size_t>(rank) * 1000, static_cast<char>('a' + rank));

  const std::string before = world().shift(mine, 1), after = world().shift(mine, -1);

  const auto text_of = [&](int other) {
    return other < 0 || other >= size
               ? std::string()
               : std::string(static_cast<std::size_t>(other) * 1000, static_cast<char>('a' + other));
  };
  EXPECT_EQ(before, text_of(rank - 1));
  EXPECT_EQ(after, text_of(rank + 1));
  EXPECT_EQ(Communicator::null().shift("alone", 1), "");
}

}  // namespace
}  // namespace multicard
