// TensorPreprocessor runs on any device; on the CPU its bits must be Preprocessor's.
#include "data/loading/TensorPreprocessor.hpp"

#include <set>

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "data/loading/DevicePreprocessor.hpp"
#include "unit/data/test_files.hpp"

namespace multicard {
namespace {

constexpr std::int64_t kImages = 5;

struct Case {
  std::int64_t height, width, channels, size;
  ImageLayout layout;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto layout : {ImageLayout::nhwc, ImageLayout::nchw})
    for (const std::int64_t channels : {1, 3})
      for (const auto& [height, width, size] :
           {std::tuple{28, 28, 100}, {32, 32, 32}, {100, 100, 37}, {5, 9, 8}, {8, 3, 8}, {1, 1, 4}, {7, 6, 1}})
        cases.push_back({height, width, channels, size, layout});
  return cases;
}

PreprocessOptions options_of(const Case& what) {
  return {what.height, what.width, what.channels, what.size, {0.2, 0.4, 0.6}, {0.5, 0.25, 0.3}, what.layout};
}

at::Tensor bytes_of(const Case& what) {
  test::Bytes bytes = test::pattern(static_cast<std::size_t>(kImages * what.height * what.width * what.channels));
  return at::from_blob(bytes.data(), {kImages, what.height, what.width, what.channels}, at::kByte).clone();
}

/// Windows of all kinds: whole, mirrored, single pixels, the size that comes out.
at::Tensor windows_for(const Case& what) {
  const auto height = static_cast<std::int32_t>(what.height), width = static_cast<std::int32_t>(what.width);
  const auto size = static_cast<std::int32_t>(what.size);
  std::vector<ImageWindow> windows{
      {0, 0, height, width, Mirror::no},
      {0, 0, height, width, Mirror::yes},
      {height - 1, width - 1, 1, 1, Mirror::yes},
      {height / 3, width / 4, height - height / 3, (width + 1) / 2, Mirror::no},
      {height / 2, 0, std::min(size, height - height / 2), std::min(size, width), Mirror::yes}};
  return at::from_blob(windows.data(), {kImages, ImageWindow::kNumFields}, at::kInt).clone();
}

class TensorPreprocessorTest : public testing::TestWithParam<at::ScalarType> {};

TEST_P(TensorPreprocessorTest, GivesTheBitsOfPreprocessor) {
  for (const Case& what : all_cases()) {
    const DevicePreprocessor on_host(options_of(what), GetParam(), at::kCPU);
    const TensorPreprocessor by_tensors(options_of(what), GetParam(), at::kCPU);
    const at::Tensor bytes = bytes_of(what);
    for (const at::Tensor& windows : {at::Tensor(), windows_for(what)}) {
      const at::Tensor want = on_host.run(bytes, windows), got = by_tensors.run(bytes, windows);
      EXPECT_EQ(got.scalar_type(), GetParam());
      EXPECT_EQ(got.sizes(), (at::IntArrayRef{kImages, 3, what.size, what.size}));
      EXPECT_TRUE(got.is_contiguous(what.layout == ImageLayout::nhwc ? at::MemoryFormat::ChannelsLast
                                                                     : at::MemoryFormat::Contiguous));
      EXPECT_TRUE(at::equal(got, want)) << what.height << "x" << what.width << "x" << what.channels << " to "
                                        << what.size << (windows.defined() ? " in windows" : "");
    }
  }
}

TEST_P(TensorPreprocessorTest, TakesBatchesWithoutRows) {
  const Case what{6, 7, 3, 5, ImageLayout::nhwc};
  const at::Tensor bytes = at::empty({0, 6, 7, 3}, at::kByte), windows = at::empty({0, 5}, at::kInt);
  for (const at::Tensor& seen : {at::Tensor(), windows}) {
    EXPECT_EQ(TensorPreprocessor(options_of(what), GetParam(), at::kCPU).run(bytes, seen).sizes(),
              (at::IntArrayRef{0, 3, 5, 5}));
    EXPECT_EQ(DevicePreprocessor(options_of(what), GetParam(), at::kCPU).run(bytes, seen).sizes(),
              (at::IntArrayRef{0, 3, 5, 5}));
  }
}

/// The largest amount that was allocated at a time.
class Peak final : public c10::MemoryReportingInfoBase {
 public:
  void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t, c10::Device) override {
    live_ += bytes;
    most = std::max(most, live_);
  }
  bool memoryProfilingEnabled() const override { return true; }
  std::int64_t most = 0;

 private:
  std::int64_t live_ = 0;
};

TEST_P(TensorPreprocessorTest, TakesNoMoreMemoryThanItSays) {
  for (const Case& what : {Case{100, 100, 3, 37, ImageLayout::nhwc}, Case{40, 50, 1, 90, ImageLayout::nhwc},
                           Case{40, 50, 1, 90, ImageLayout::nchw}, Case{64, 64, 3, 64, ImageLayout::nchw}}) {
    const TensorPreprocessor preprocessor(options_of(what), GetParam(), at::kCPU);
    for (const at::Tensor& windows : {at::Tensor(), windows_for(what)}) {
      const at::Tensor bytes = bytes_of(what);
      const auto peak = std::make_shared<Peak>();
      const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, peak);
      const at::Tensor result = preprocessor.run(bytes, windows);
      EXPECT_LE(peak->most, kImages * preprocessor.bytes_per_row()) << what.size;
      EXPECT_GE(peak->most, kImages * preprocessor.bytes_per_row() / 4) << what.size;
    }
  }
}

std::multiset<std::string> operations;

std::unique_ptr<at::ObserverContext> note(const at::RecordFunction& function) {
  operations.insert(function.name());
  return nullptr;
}

TEST(TensorPreprocessor, AsksForNoValueAndEnqueuesFewOperations) {
  const Case what{20, 30, 3, 25, ImageLayout::nchw};
  const TensorPreprocessor preprocessor(options_of(what), at::kFloat, at::kCPU);
  const at::Tensor bytes = bytes_of(what), windows = windows_for(what);
  const auto handle = at::addThreadLocalCallback(at::RecordFunctionCallback(note));
  preprocessor.run(bytes, windows);
  at::removeCallback(handle);

  // These would make the host wait for a GPU.
  for (const char* waits : {"aten::item", "aten::_local_scalar_dense", "aten::nonzero", "aten::is_nonzero"})
    EXPECT_EQ(operations.count(waits), 0u) << waits;
  std::size_t num_kernels = 0;
  for (const char* kernel :
       {"aten::add", "aten::add_", "aten::sub", "aten::sub_", "aten::mul", "aten::mul_", "aten::div", "aten::copy_",
        "aten::minimum", "aten::clamp_", "aten::clamp_min_", "aten::rsub", "aten::gather", "aten::index_select"})
    num_kernels += operations.count(kernel);
  EXPECT_GE(num_kernels, 20u);  // the names above are the ones that are used
  EXPECT_LE(num_kernels, 42u);  // some of them conversions that are no kernels of their own on a GPU
}

INSTANTIATE_TEST_SUITE_P(Types, TensorPreprocessorTest, testing::Values(at::kFloat, at::kDouble),
                         [](const auto& type) { return type.param == at::kFloat ? "float32" : "float64"; });

}  // namespace
}  // namespace multicard
