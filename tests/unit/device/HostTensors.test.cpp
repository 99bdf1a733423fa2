#include "device/HostTensors.hpp"

#include <chrono>
#include <thread>

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(HostTensors, CountsWhatTensorsHold) {
  const at::Tensor older = at::ones({1000}, at::kDouble);
  EXPECT_EQ(host_tensor_memory().peak, 0) << "counting has not begun";
  add_host_tensor_bytes(7);
  EXPECT_EQ(host_tensor_memory().allocated, 0);

  count_host_tensors();
  count_host_tensors();
  {
    const at::Tensor one = at::empty({1000}, at::kDouble), none = at::empty({0});
    std::thread([] { const at::Tensor elsewhere = at::empty({500}, at::kDouble); }).join();
    EXPECT_EQ(host_tensor_memory().allocated, 8000);
    EXPECT_EQ(host_tensor_memory().peak, 12000);
    reset_peak_host_tensors();
    EXPECT_EQ(host_tensor_memory().peak, 8000);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(one.data_ptr()) % 64, 0U);
  }
  EXPECT_EQ(host_tensor_memory().allocated, 0);
  add_host_tensor_bytes(100);
  EXPECT_EQ(host_tensor_memory().allocated, 100);
  add_host_tensor_bytes(-100);

  reset_peak_host_tensors();
  const auto begin = std::chrono::steady_clock::now();
  {
    const at::Tensor half = at::empty({1'000'000}, at::kByte);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  }
  const auto middle = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  const std::int64_t mean = host_tensor_memory().mean;
  const std::chrono::duration<double> held = middle - begin, all = std::chrono::steady_clock::now() - begin;
  EXPECT_NEAR(static_cast<double>(mean), 1e6 * held / all, 2e4);

  EXPECT_EQ(older.sum().item<double>(), 1000);
  const at::Tensor product = at::mm(at::ones({64, 64}), at::ones({64, 64}));  // libraries ask for memory, too
  EXPECT_EQ(product[3][5].item<float>(), 64);
  EXPECT_EQ(host_tensor_memory().allocated, 64 * 64 * 4);
  at::Tensor grown = at::ones({10});
  grown.resize_({1000});
  EXPECT_EQ(grown[9].item<float>(), 1);
}

}  // namespace
}  // namespace multicard
