#include "base/BoundedQueue.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace multicard {
namespace {

using std::chrono::milliseconds;

/// Whether the call that `future` stands for is still waiting after a while.
template <class T>
bool waits(std::future<T>& future) {
  return future.wait_for(milliseconds(50)) == std::future_status::timeout;
}

TEST(BoundedQueue, HandsValuesOutInOrder) {
  BoundedQueue<std::unique_ptr<int>> queue(3);

  for (int value : {1, 2, 3})
    EXPECT_TRUE(queue.push(std::make_unique<int>(value)));

  for (int value : {1, 2, 3})
    EXPECT_EQ(**queue.pop(), value);
}

TEST(BoundedQueue, NeedsRoom) {
  EXPECT_THROW(BoundedQueue<int>(0), std::logic_error);
}

TEST(BoundedQueue, LetsPushWaitForRoom) {
  BoundedQueue<int> queue(1);
  queue.push(1);

  auto room = std::async(std::launch::async, [&] { return queue.wait_for_room(); });
  EXPECT_TRUE(waits(room));
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_TRUE(room.get());

  queue.push(2);
  auto pushed = std::async(std::launch::async, [&] { return queue.push(3); });
  EXPECT_TRUE(waits(pushed));
  EXPECT_EQ(queue.pop(), 2);
  EXPECT_TRUE(pushed.get());
  EXPECT_EQ(queue.pop(), 3);
}

TEST(BoundedQueue, LetsPopWaitForAValue) {
  BoundedQueue<int> queue(1);

  auto popped = std::async(std::launch::async, [&] { return queue.pop(); });
  EXPECT_TRUE(waits(popped));
  queue.push(7);

  EXPECT_EQ(popped.get(), 7);
}

TEST(BoundedQueue, GivesWhatIsQueuedAfterClose) {
  BoundedQueue<int> queue;
  queue.push(1);

  queue.close();

  EXPECT_FALSE(queue.push(2));
  EXPECT_FALSE(queue.wait_for_room());
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, ThrowsTheErrorInThePlaceOfTheNextValueAndEverAfter) {
  BoundedQueue<int> queue;
  queue.push(1);

  queue.close(std::make_exception_ptr(std::runtime_error("the disk is gone")));
  queue.close();

  EXPECT_EQ(queue.pop(), 1);
  EXPECT_THROW(queue.pop(), std::runtime_error);
  EXPECT_THROW(queue.pop(), std::runtime_error);
}

TEST(BoundedQueue, DestroysWhatIsQueuedWhenCancelled) {
  BoundedQueue<std::shared_ptr<int>> queue;
  const auto value = std::make_shared<int>(1);
  queue.push(value);
  queue.close(std::make_exception_ptr(std::runtime_error("the disk is gone")));

  queue.cancel();

  EXPECT_EQ(value.use_count(), 1);
  EXPECT_FALSE(queue.push(value));
  EXPECT_EQ(value.use_count(), 1);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

TEST(BoundedQueue, WakesAllWhoWaitWhenItEnds) {
  for (const bool cancels : {false, true}) {
    BoundedQueue<int> full(1), empty(1);
    full.push(1);
    std::vector<std::future<bool>> waiting;
    for (int i = 0; i < 2; ++i) {
      waiting.push_back(std::async(std::launch::async, [&] { return full.push(2); }));
      waiting.push_back(std::async(std::launch::async, [&] { return full.wait_for_room(); }));
      waiting.push_back(std::async(std::launch::async, [&] { return empty.pop().has_value(); }));
    }
    EXPECT_TRUE(std::all_of(waiting.begin(), waiting.end(), [](auto& call) { return waits(call); }));

    for (BoundedQueue<int>* queue : {&full, &empty})
      cancels ? queue->cancel() : queue->close();

    for (std::future<bool>& call : waiting)
      EXPECT_FALSE(call.get());
  }
}

TEST(BoundedQueue, LosesAndDoublesNothingBetweenManyThreads) {
  constexpr int kThreads = 4, kValues = 5000;
  BoundedQueue<int> queue(3);
  std::vector<std::vector<int>> popped(kThreads);
  std::vector<std::thread> pushers, poppers;

  for (int thread = 0; thread < kThreads; ++thread) {
    pushers.emplace_back([&queue, thread] {
      for (int i = 0; i < kValues; ++i)
        queue.push(i * kThreads + thread);
    });
    poppers.emplace_back([&queue, &mine = popped[static_cast<std::size_t>(thread)]] {
      while (const std::optional<int> value = queue.pop())
        mine.push_back(*value);
    });
  }
  for (std::thread& thread : pushers)
    thread.join();
  queue.close();
  for (std::thread& thread : poppers)
    thread.join();

  std::vector<int> all, expected(kThreads * kValues);
  std::iota(expected.begin(), expected.end(), 0);
  for (const std::vector<int>& values : popped) {
    for (int thread = 0; thread < kThreads; ++thread) {
      std::vector<int> of_thread;
      std::copy_if(values.begin(), values.end(), std::back_inserter(of_thread),
                   [&](int value) { return value % kThreads == thread; });
      EXPECT_TRUE(std::is_sorted(of_thread.begin(), of_thread.end()));
    }
    all.insert(all.end(), values.begin(), values.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, expected);
}

}  // namespace
}  // namespace multicard
