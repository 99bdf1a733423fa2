#include "results/MetricSink.hpp"

#include <chrono>

#include <fmt/format.h>

#include "comm/Agreement.hpp"

namespace multicard {

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

MetricFeed::~MetricFeed() {
  flush();
}

void MetricFeed::open(const std::function<std::unique_ptr<MetricSink>()>& make) {
  // Not collective: sinks exist on the rank that writes them, and the other ranks need not know of their failure.
  if (const auto error = error_of([&] { sinks_.push_back(make()); })) disable(error->what());
}

void MetricFeed::add(const std::string& name, std::int64_t step, double value) {
  each([&](MetricSink& sink) { sink.add(name, step, value); });
}

void MetricFeed::flush() {
  each([](MetricSink& sink) { sink.flush(); });
}

void MetricFeed::each(const std::function<void(MetricSink&)>& body) {
  // Each by itself: a full disk for one file must not take the values from the others.
  std::erase_if(sinks_, [&](const std::unique_ptr<MetricSink>& sink) {
    const auto error = error_of([&] { body(*sink); });
    if (error) disable(error->what());
    return error.has_value();
  });
}

void MetricFeed::disable(const std::string& why) const {
  warn_(fmt::format("{} The run continues without it.", why));
}

}  // namespace multicard
