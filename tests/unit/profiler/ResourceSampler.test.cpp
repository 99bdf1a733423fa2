#include "profiler/ResourceSampler.hpp"

#include <chrono>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "support/compute_for.hpp"

namespace multicard {
namespace {

using namespace std::chrono_literals;
using test::compute_for;

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

TEST(ResourceSampler, IntervalsHoldAllThatWasUsed) {
  const double cpu_before = process_use().cpu_s;
  const auto start = std::chrono::steady_clock::now();
  ResourceSampler sampler({});
  compute_for(0.1);
  ResourceSampler::Columns columns = sampler.sample_and_copy();
  EXPECT_GE(columns.at("cpu_s").front(), 0.1);
  compute_for(0.05);
  columns = sampler.sample_and_copy();

  const double used = process_use().cpu_s - cpu_before;
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GE(sum(columns.at("cpu_s")), 0.15);
  EXPECT_LE(sum(columns.at("cpu_s")), used);
  EXPECT_GE(sum(columns.at("interval_s")), 0.1);
  EXPECT_LE(sum(columns.at("interval_s")), elapsed + 0.01);
  EXPECT_GT(columns.at("resident_bytes").back(), 1e6);
}

TEST(ResourceSampler, TakesASampleASecond) {
  const auto start = std::chrono::steady_clock::now();
  ResourceSampler sampler({});
  std::this_thread::sleep_for(2200ms);
  const ResourceSampler::Columns columns = sampler.sample_and_copy();
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::vector<double>& intervals = columns.at("interval_s");
  ASSERT_GE(intervals.size(), 2U);  // a busy machine may be late
  EXPECT_LE(static_cast<double>(intervals.size()), elapsed + 1);
  EXPECT_GE(intervals.front(), 0.99);
}

TEST(ResourceSampler, WhatCannotBeReadHasNoColumn) {
  ResourceSampler sampler({.gpu_bus_id = "0000:00:00.0"});  // no GPU has this address
  const ResourceSampler::Columns columns = sampler.sample_and_copy();
  for (const auto& [name, values] : columns) {
    EXPECT_FALSE(name.starts_with("gpu_")) << name;
    EXPECT_NE(name, "node_energy_j");
    EXPECT_EQ(values.size(), 1U) << name;
  }
}

}  // namespace
}  // namespace multicard
