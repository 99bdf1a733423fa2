#pragma once
// Replicas as threads of one process.

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include <ATen/TensorOperators.h>

#include "kernels/StatisticsReducer.hpp"

namespace multicard::test {

/// Sums over `count` threads; each uses the one object.
class ThreadReducer : public StatisticsReducer {
 public:
  explicit ThreadReducer(int count) : barrier_(count), parts_(static_cast<std::size_t>(count)) {}

  int num_replicas() const override { return static_cast<int>(parts_.size()); }
  int replica() const override { return static_cast<int>(index_); }
  void all_reduce(at::Tensor& flat) override {
    parts_[index_] = flat.clone();
    barrier_.arrive_and_wait();
    at::Tensor total = parts_[0].clone();
    for (std::size_t i = 1; i < parts_.size(); ++i)
      total.add_(parts_[i]);
    flat.copy_(total);
    barrier_.arrive_and_wait();
  }

  /// Runs body(index) in `count` threads.
  void run(const std::function<void(std::size_t)>& body) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < parts_.size(); ++i)
      threads.emplace_back([&, i] {
        index_ = i;
        body(i);
      });
    for (std::thread& thread : threads)
      thread.join();
  }

 private:
  static inline thread_local std::size_t index_ = 0;
  std::barrier<> barrier_;
  std::vector<at::Tensor> parts_;
};

}  // namespace multicard::test
