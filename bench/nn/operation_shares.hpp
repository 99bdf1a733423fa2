#pragma once
// The share of each operation of LibTorch in what is measured between start and end.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/record_function.h>

#include "base/Clock.hpp"

namespace multicard::bench {

// Seconds an operation took itself, without the operations inside it.
struct OpenOperation : at::ObserverContext {
  TimePoint start = SteadyClock::now();
  double inner = 0;
  OpenOperation* outer = nullptr;
};
inline thread_local OpenOperation* innermost = nullptr;
inline std::map<std::string, double> seconds_by_operation;

inline std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction&) {
  auto operation = std::make_unique<OpenOperation>();
  operation->outer = innermost;
  innermost = operation.get();
  return operation;
}

inline void on_end(const at::RecordFunction& function, at::ObserverContext* context) {
  auto* operation = static_cast<OpenOperation*>(context);
  const double seconds = seconds_since(operation->start);
  seconds_by_operation[function.name()] += seconds - operation->inner;
  innermost = operation->outer;
  if (innermost) innermost->inner += seconds;
}

// Runs `body` and prints the operations that took most of its time.
template <typename Body>
void print_shares(const Body& body) {
  const auto handle = at::addGlobalCallback(at::RecordFunctionCallback(on_start, on_end));
  body();
  at::removeCallback(handle);
  double total = 0;
  std::vector<std::pair<double, std::string>> rows;
  for (const auto& [name, seconds] : seconds_by_operation) {
    rows.emplace_back(seconds, name);
    total += seconds;
  }
  std::sort(rows.rbegin(), rows.rend());
  for (std::size_t i = 0; i < std::min<std::size_t>(rows.size(), 16); ++i)
    std::printf("  %5.1f %%  %s\n", 100 * rows[i].first / total, rows[i].second.c_str());
  seconds_by_operation.clear();
}

}  // namespace multicard::bench
