#include "profile/trace/TraceProfile.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "TraceFile.hpp"
#include "profile/trace/TraceReader.hpp"

namespace multicard {
namespace {

/// Two operators, the inner one launching two kernels; a copy on a second stream; a collective. Times in us.
///
///   host      outer 0..100, inner 10..60, launches 20..30 and 40..45, copy call 70..75, NCCL's launch 80..90
///   stream 7  kernels 50..80 and 100..130
///   stream 8  copy 90..110
///   stream 9  NCCL 120..160
constexpr const char* kEvents = R"json(
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 1, "tid": 1, "ts": 0, "dur": 200},
  {"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 1, "ts": 10, "dur": 50},
  {"ph": "X", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 1, "ts": 0, "dur": 100},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 20, "dur": 10,
   "args": {"correlation": 1}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 40, "dur": 5,
   "args": {"correlation": 2}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaMemcpyAsync", "pid": 1, "tid": 1, "ts": 70, "dur": 5,
   "args": {"correlation": 3}},
  {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": 1, "tid": 1, "ts": 80, "dur": 10,
   "args": {"correlation": 4}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 50, "dur": 30,
   "args": {"correlation": 1, "device": 0, "stream": 7}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 100, "dur": 30,
   "args": {"correlation": 2, "device": 0, "stream": 7}},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)",
                     "pid" : 0, "tid" : 8, "ts" : 90, "dur" : 20, "args" : {
  "correlation" : 3, "device" : 0, "stream" : 8, "bytes" : 40000
}
},
  {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", "pid": 0, "tid": 9, "ts": 120,
   "dur": 40, "args": {"correlation": 4, "device": 0, "stream": 9}})json";

Profile small_profile() {
  const test::TraceFile file(test::TraceFile::of(kEvents));
  return profile_of(read_trace(file.path()), 5);
}

TEST(TraceProfile, DividesTheTimeOfAGpu) {
  const Profile profile = small_profile();
  ASSERT_EQ(profile.gpus.size(), 1u);
  const GpuTime& gpu = profile.gpus[0];
  EXPECT_EQ(gpu.span, 110000);
  EXPECT_EQ(gpu.busy, 30000 + 70000);
  EXPECT_EQ(gpu.idle(), 10000);
  EXPECT_EQ(gpu.compute, 60000);
  EXPECT_EQ(gpu.communication, 40000);
  EXPECT_EQ(gpu.memory, 20000);
  EXPECT_EQ(gpu.overlap, 10000);
  EXPECT_EQ(gpu.exposed(), 30000);
  EXPECT_EQ(profile.rank, 5);
  EXPECT_EQ(profile.num_steps, 1);
}

TEST(TraceProfile, CountsCallsKernelsCopiesAndCollectives) {
  const Profile profile = small_profile();
  ASSERT_EQ(profile.calls.size(), 3u);
  EXPECT_EQ(profile.calls[0].name, "cudaLaunchKernel");
  EXPECT_EQ(profile.calls[0].time.count, 2);
  EXPECT_EQ(profile.calls[0].time.total, 15000);
  EXPECT_EQ(profile.api_ns, 30000);
  ASSERT_EQ(profile.kernels.size(), 2u);
  EXPECT_EQ(profile.kernels[0].name, "gemm");
  EXPECT_EQ(profile.kernel_ns, 100000);
  ASSERT_EQ(profile.copies.size(), 1u);
  EXPECT_EQ(profile.copies[0].direction, "HtoD");
  EXPECT_DOUBLE_EQ(profile.copies[0].bandwidth().value(), 2);
  ASSERT_EQ(profile.collectives.size(), 1u);
  EXPECT_EQ(profile.collectives[0].name, "AllReduce");
}

TEST(TraceProfile, GivesWorkToTheInnermostOperator) {
  const Profile profile = small_profile();
  ASSERT_EQ(profile.operators.size(), 2u);
  const auto row = [&](const std::string& name) {
    return *std::ranges::find(profile.operators, name, &OperatorRow::name);
  };
  EXPECT_EQ(row("outer").cost.self_ns, 50000);
  EXPECT_EQ(row("outer").time.total, 100000);
  EXPECT_EQ(row("outer").cost.gpu_ns, 20000 + 40000);
  EXPECT_EQ(row("outer").cost.gpu_count, 2);
  EXPECT_EQ(row("inner").cost.self_ns, 50000);
  EXPECT_EQ(row("inner").cost.gpu_ns, 60000);
}

TEST(TraceProfile, MeasuresDelaysAndGaps) {
  const Profile profile = small_profile();
  EXPECT_EQ(profile.delays.from_start.count, 3);
  EXPECT_EQ(profile.delays.from_start.min, 30000);  // 20 -> 50
  EXPECT_EQ(profile.delays.from_start.max, 60000);  // 40 -> 100
  EXPECT_EQ(profile.delays.from_end.total, 20000 + 55000 + 30000);
  EXPECT_EQ(profile.delays.queue.total, 20000 + 20000 + 30000);  // the second waited for the first until 80
  EXPECT_EQ(profile.delays.unmatched, 0);
  ASSERT_EQ(profile.streams.size(), 3u);
  EXPECT_EQ(profile.streams[0].stream, 7);
  EXPECT_EQ(profile.streams[0].gaps.count, 1);
  EXPECT_EQ(profile.streams[0].gaps.total, 20000);
  EXPECT_EQ(profile.streams[0].host_bound_gaps, 0);  // the launch had begun at 40, before the gap
}

TEST(TraceProfile, CallsAGapHostBoundWhereTheLaunchCameLater) {
  const test::TraceFile file(test::TraceFile::of(R"(
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 60, "dur": 10,
     "args": {"correlation": 2}},
    {"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 10, "dur": 30, "args": {"correlation": 1}},
    {"ph": "X", "cat": "kernel", "name": "b", "pid": 0, "tid": 7, "ts": 90, "dur": 30, "args": {"correlation": 2}})"));
  const Profile profile = profile_of(read_trace(file.path()), 0);
  EXPECT_EQ(profile.streams.at(0).host_bound_gaps, 1);
  EXPECT_EQ(profile.streams[0].host_bound_ns, 50000);
  EXPECT_EQ(profile.delays.unmatched, 1);
}

TEST(TraceProfile, SaysWhatIsNotRecordedRatherThanZero) {
  const Profile profile = small_profile();
  for (const ShareRow& row : profile.shares) {
    EXPECT_EQ(row.is_recorded, row.name != "cudaEventDestroy") << row.name;
    if (row.name == "cudaLaunchKernel") {
      EXPECT_DOUBLE_EQ(row.share().value(), 0.5);  // not the launch of another name
    }
    if (row.name == "nccl_kernels") {
      EXPECT_DOUBLE_EQ(row.share().value(), 0.4);
    }
    if (row.name == "host_to_device_copy") {
      EXPECT_DOUBLE_EQ(row.share().value(), 1);
    }
  }
  EXPECT_FALSE(profile.operators.at(0).cost.allocated_bytes);
}

TEST(TraceProfile, OfTheHostAloneKnowsNothingOfTheGpu) {
  const std::string add = R"({"ph": "X", "cat": "cpu_op", "name": "add", "pid": 1, "tid": 1, "ts": 1, "dur": 9})";
  const std::string call =
      R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 1})";
  const auto read = [](const std::string& events) {
    const test::TraceFile file(test::TraceFile::of(events));
    return profile_of(read_trace(file.path()), 0);
  };
  const Profile host = read(add);
  EXPECT_TRUE(host.shares.empty());
  EXPECT_FALSE(host.operators.at(0).cost.gpu_ns);
  EXPECT_FALSE(host.operators.at(0).cost.gpu_count);
  EXPECT_FALSE(host.operators.at(0).cost.allocated_bytes);
  for (const ShareRow& row : read(add + "," + call).shares)
    EXPECT_EQ(row.is_recorded, row.of == "api" && row.name != "cudaEventDestroy") << row.name;
}

}  // namespace
}  // namespace multicard
