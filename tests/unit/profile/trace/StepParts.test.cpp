#include "profile/trace/StepParts.hpp"

#include <gtest/gtest.h>

#include "profile/trace/StepWindow.hpp"
#include "profile/trace/TraceProfile.hpp"

namespace multicard {
namespace {

HostRange range(Trace& trace, const char* name, std::int64_t begin, std::int64_t end, std::int32_t thread = 0) {
  HostRange made;
  made.begin = begin;
  made.end = end;
  made.name = trace.names.id(name);
  made.thread = thread;
  return made;
}

void add_operator(Trace& trace, const char* name, std::int64_t begin, std::int64_t end, std::int32_t thread = 0,
                  AutogradNode node = {}) {
  trace.operators.push_back(range(trace, name, begin, end, thread));
  trace.nodes.push_back(node);
}

void add_block(Trace& trace, const char* name, std::int64_t begin, std::int64_t end, std::int64_t first_node,
               std::int64_t end_node, std::int32_t thread = 0) {
  BlockRange block;
  static_cast<HostRange&>(block) = range(trace, name, begin, end, thread);
  block.first_node = first_node;
  block.end_node = end_node;
  trace.blocks.push_back(block);
}

void add_kernel(Trace& trace, std::int64_t launched, std::int64_t length, std::int32_t thread = 0) {
  const auto correlation = static_cast<std::int64_t>(trace.calls.size()) + 1;
  trace.calls.push_back({{launched, launched + 1}, correlation, trace.names.id("cudaLaunchKernel"), thread});
  trace.gpu.push_back(
      {{launched + 500, launched + 500 + length}, correlation, -1, trace.names.id("kernel"), 0, GpuWork::kernel});
}

/// Forward of two blocks on thread 0 (nodes 10 to 14), backward on thread 1, where block "b" is recomputed.
///
///   forward   0..100: block a 10..40 (mm 15..25), block b 40..90 (mul 50..60), loss 92..98
///   backward  100..200 on thread 1: node 13 of b 110..160 with the recomputed b 115..130 (mul 118..128) and its node
///             2 of thread 1, 132..150; node 11 of a 160..190 (mm 165..185)
///   none      200..300: an evaluation
Trace small_trace() {
  Trace trace;
  trace.num_threads = 2;
  trace.streams = {{0, 7}};
  trace.phases = {{{0, 100}, Phase::forward}, {{100, 200}, Phase::backward}};
  add_block(trace, "a", 10, 40, 10, 12);
  add_block(trace, "b", 40, 90, 12, 14);
  add_block(trace, "b", 115, 130, 1, 4, 1);
  add_operator(trace, "mm", 15, 25);
  add_operator(trace, "mul", 50, 60);
  add_operator(trace, "loss", 92, 98);
  add_operator(trace, "BlockBackward", 110, 160, 1, {13, 0});
  add_operator(trace, "mul", 118, 128, 1);
  add_operator(trace, "MulBackward", 132, 150, 1, {2, 1});
  add_operator(trace, "MmBackward", 160, 190, 1, {11, 0});
  add_operator(trace, "mm", 165, 185, 1);
  add_kernel(trace, 16, 1000);      // mm of a
  add_kernel(trace, 120, 200, 1);   // mul of the recomputed b
  add_kernel(trace, 166, 3000, 1);  // mm in backward of a
  add_kernel(trace, 95, 7);         // loss: in no block
  add_kernel(trace, 99, 70);        // in no operator
  add_operator(trace, "mm", 210, 290);
  add_block(trace, "a", 205, 295, 20, 20);
  add_kernel(trace, 220, 5000);
  trace.num_threads = 2;
  return trace;
}

const BlockRow& row_of(const Profile& profile, const std::string& name, const std::string& pass) {
  for (const BlockRow& row : profile.blocks)
    if (row.name == name && row.pass == pass) return row;
  throw std::runtime_error("no row of " + name + ", " + pass);
}

TEST(StepParts, OperatorsBelongToBlocksInEachPass) {
  Trace trace = small_trace();
  keep_steps(trace);
  const Profile profile = profile_of(trace, 0);
  ASSERT_EQ(profile.blocks.size(), 5u);
  const BlockRow &a = row_of(profile, "a", "forward"), &a_back = row_of(profile, "a", "backward"),
                 &b = row_of(profile, "b", "forward"), &again = row_of(profile, "b", "recomputed"),
                 &b_back = row_of(profile, "b", "backward");
  EXPECT_EQ(a.time.total, 30);
  EXPECT_EQ(a.cost.self_ns, 10);
  EXPECT_EQ(a.cost.gpu_ns, 1000);
  EXPECT_EQ(b.cost.self_ns, 10);
  EXPECT_EQ(again.time.total, 15);
  EXPECT_EQ(again.cost.self_ns, 10);
  EXPECT_EQ(again.cost.gpu_ns, 200);
  // The node that recomputes is backward of b, as is the node that the recomputed pass made.
  EXPECT_EQ(b_back.cost.self_ns, 50 - 10 - 18 + 18);
  EXPECT_EQ(b_back.time.total, 50);  // the node within it is part of that
  EXPECT_EQ(a_back.time.total, 30);
  EXPECT_EQ(a_back.cost.self_ns, 30);
  EXPECT_EQ(a_back.cost.gpu_ns, 3000);
}

TEST(StepParts, PhasesHaveWhatBeganInThem) {
  Trace trace = small_trace();
  keep_steps(trace);
  const Profile profile = profile_of(trace, 0);
  ASSERT_EQ(profile.phases.size(), 2u);
  EXPECT_EQ(profile.phases[0].name, "forward");
  EXPECT_EQ(profile.phases[0].time.total, 100);
  EXPECT_EQ(profile.phases[0].cost.self_ns, 10 + 10 + 6);
  EXPECT_EQ(profile.phases[0].cost.gpu_ns, 1000 + 7 + 70);
  EXPECT_EQ(profile.phases[1].cost.self_ns, 50 + 30);
  EXPECT_EQ(profile.phases[1].cost.gpu_count, 2);
  EXPECT_FALSE(profile.phases[1].cost.allocated_bytes);
  std::int64_t forward_mm = 0, backward_mm = 0;
  for (const OperatorRow& row : profile.operators) {
    if (row.name != "mm") continue;
    (row.phase == "forward" ? forward_mm : backward_mm) += row.time.count;
    EXPECT_FALSE(row.phase.empty());
  }
  EXPECT_EQ(forward_mm, 1);
  EXPECT_EQ(backward_mm, 1);
}

TEST(StepParts, WhatBeganOutsideOfStepsIsDropped) {
  Trace trace = small_trace();
  const std::size_t operators = trace.operators.size(), kernels = trace.gpu.size();
  keep_steps(trace);
  EXPECT_EQ(trace.operators.size(), operators - 1);
  EXPECT_EQ(trace.nodes.size(), trace.operators.size());
  EXPECT_EQ(trace.gpu.size(), kernels - 1);
  EXPECT_EQ(trace.blocks.size(), 3u);
  EXPECT_EQ(trace.calls.size(), trace.gpu.size());
}

TEST(StepParts, WhatIsRecordedMayBeNothingAndWhatIsNotIsUnknown) {
  Trace trace = small_trace();
  trace.phases.push_back({{200, 201}, Phase::update});
  trace.has_allocations = true;
  const PhaseRow& update = profile_of(trace, 0).phases.at(2);
  EXPECT_EQ(update.cost.gpu_ns, 0);
  EXPECT_EQ(update.cost.gpu_count, 0);
  EXPECT_EQ(update.cost.allocated_bytes, 0);
  trace.gpu.clear();
  const Profile host = profile_of(trace, 0);
  for (const PhaseRow& row : host.phases)
    EXPECT_FALSE(row.cost.gpu_ns || row.cost.gpu_count) << row.name;
  for (const BlockRow& row : host.blocks)
    EXPECT_FALSE(row.cost.gpu_ns || row.cost.gpu_count) << row.name;
}

TEST(StepParts, AllocationsBelongToTheInnermostOperator) {
  Trace trace = small_trace();
  trace.has_allocations = true;
  trace.allocations = {{20, 64, 0}, {120, 32, 1}, {141, 8, 1}, {45, 4, 0}, {250, 1024, 0}};
  keep_steps(trace);
  const Profile profile = profile_of(trace, 0);
  EXPECT_EQ(row_of(profile, "a", "forward").cost.allocated_bytes, 64);
  EXPECT_EQ(row_of(profile, "b", "recomputed").cost.allocated_bytes, 32);
  EXPECT_EQ(row_of(profile, "b", "backward").cost.allocated_bytes, 8);
  EXPECT_EQ(row_of(profile, "b", "forward").cost.allocated_bytes, 0);  // at 45 no operator runs
}

}  // namespace
}  // namespace multicard
