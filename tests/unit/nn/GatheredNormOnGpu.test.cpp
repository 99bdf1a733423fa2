// Synchronised batch normalisation on a GPU. Skipped without one.
#include "device/Device.hpp"
#include "gathered_cases.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

TEST(GatheredNormOnGpu, IsTheNormOfTheWholeBatch) {
  if (visible_gpus().empty()) GTEST_SKIP() << "no GPU";
  const auto topology = find_topology(test::world());
  const at::Device device = choose_device(DeviceRequest::cuda, ShareGpu::yes, test::world(), topology).device;

  for (const test::GatheredCase& one : test::kGatheredCases) {
    SCOPED_TRACE(c10::toString(one.dtype));
    test::expect_norm_of_whole_batch(one, device);
  }
}

}  // namespace
}  // namespace multicard
