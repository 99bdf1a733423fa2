// NCCL on the GPUs there are; ranks share one where there are fewer. Skipped without a GPU.
#include <numeric>

#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAGuard.h>
#include <gtest/gtest.h>

#include "device/Device.hpp"
#include "dist/GradientReducer.hpp"
#include "dist/TensorCollectives.hpp"
#include "support/test_world.hpp"
#include "values.hpp"

namespace multicard {
namespace {

using test::values;
using test::world;

class Nccl : public testing::Test {
 protected:
  void SetUp() override {
    if (visible_gpus().empty()) GTEST_SKIP() << "no GPU";
    device_ = choose_device(DeviceRequest::cuda, ShareGpu::yes, world(), find_topology(world())).device;
  }

  at::Device device_ = at::kCPU;
};

TEST_F(Nccl, SumsEqualThoseOfMpi) {
  const auto collectives = make_collectives(Backend::nccl, world(), device_);
  EXPECT_STREQ(collectives->name(), "nccl");
  for (const std::int64_t numel : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1001}, std::int64_t{2500001}}) {
    const at::Tensor host = values<double>(numel, world().rank());
    const at::Tensor there = host.to(device_);

    collectives->start_all_reduce(there, {})->wait();
    make_collectives(Backend::mpi, world(), at::kCPU)->all_reduce(host);

    EXPECT_TRUE(at::allclose(there.cpu(), host, 1e-12, 1e-9)) << numel;
  }
  EXPECT_EQ(collectives->totals().at("all_reduce").calls, 4);
}

TEST_F(Nccl, SumsInSixteenBitsEqualTheDocumentedSum) {
  const auto collectives = make_collectives(Backend::nccl, world(), device_);
  std::vector<int> ranks(static_cast<std::size_t>(world().size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  const auto value = [](int rank, std::int64_t i) { return i == 5 ? 1e30F : test::value_of<float>(rank, i); };
  for (const CommDtype comm_dtype : {CommDtype::bf16, CommDtype::fp16})
    for (const std::int64_t numel : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1001}}) {
      const at::Tensor host = values<float>(numel, world().rank());
      if (numel > 5) host[5] = 1e30F;
      const at::Tensor all = host.to(device_), one = all.clone();

      collectives->start_all_reduce(all, {comm_dtype, std::nullopt})->wait();
      collectives->start_all_reduce(one, {comm_dtype, 0})->wait();

      EXPECT_EQ(test::first_wrong(all.cpu(), {ranks}, value, comm_dtype), -1) << numel;
      if (world().rank() > 0) continue;
      EXPECT_EQ(test::first_wrong(one.cpu(), {ranks}, value, comm_dtype), -1) << numel;
    }
  EXPECT_EQ(collectives->totals().at("all_reduce").payload_bytes, 2 * 2 * 1002);
}

TEST_F(Nccl, GathersThePartsOfAllRanks) {
  const auto collectives = make_collectives(Backend::nccl, world(), device_);
  const std::int64_t size = world().size(), rank = world().rank();
  for (const std::int64_t numel : {std::int64_t{1}, std::int64_t{1001}, std::int64_t{300007}})
    for (const bool is_in_place : {false, true})
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kByte}) {
        const auto part_of = [&](int of) { return values<float>(numel, of).to(type); };
        const at::Tensor whole = at::zeros({numel * size}, at::TensorOptions().dtype(type).device(device_));
        const at::Tensor place = whole.narrow(0, rank * numel, numel), mine = part_of(world().rank()).to(device_);
        if (is_in_place) place.copy_(mine);

        collectives->start_all_gather(is_in_place ? place : mine, whole)->wait();

        const at::Tensor found = whole.cpu();
        for (int of = 0; of < size; ++of)
          EXPECT_TRUE(at::equal(found.narrow(0, of * numel, numel), part_of(of))) << numel << " of rank " << of;
      }
}

TEST_F(Nccl, GivesEachRankItsPartOfASum) {
  const auto collectives = make_collectives(Backend::nccl, world(), device_);
  const auto on_host = make_collectives(Backend::mpi, world(), at::kCPU);
  for (const at::ScalarType type : {at::kFloat, at::kDouble})
    for (const std::int64_t numel : {std::int64_t{1}, std::int64_t{1001}, std::int64_t{300007}}) {
      const at::Tensor host = values<double>(numel * world().size(), world().rank()).to(type), flat = host.to(device_);

      collectives->start_reduce_scatter(flat, CommDtype::same)->wait();
      on_host->start_reduce_scatter(host, CommDtype::same)->wait();

      const auto part = [&](const at::Tensor& all) { return all.narrow(0, world().rank() * numel, numel); };
      EXPECT_TRUE(at::allclose(part(flat.cpu()), part(host), type == at::kDouble ? 1e-12 : 1e-5, 1e-2)) << numel;
    }
}

/// In the order of ranks, with which their sums have the bits of an all-reduce.
TEST_F(Nccl, GivesEachRankItsPartOfASumInSixteenBits) {
  const auto collectives = make_collectives(Backend::nccl, world(), device_);
  for (const CommDtype comm_dtype : {CommDtype::bf16, CommDtype::fp16}) {
    constexpr std::int64_t kNumel = 1001;
    const at::Tensor sum = values<float>(kNumel * world().size(), world().rank()).to(device_), flat = sum.clone();

    collectives->start_reduce_scatter(flat, comm_dtype)->wait();
    collectives->start_all_reduce(sum, {comm_dtype, {}})->wait();

    const std::int64_t first = world().rank() * kNumel;
    EXPECT_TRUE(at::equal(flat.narrow(0, first, kNumel), sum.narrow(0, first, kNumel)));
  }
}

TEST_F(Nccl, MovesRowsAndCopies) {
  const auto collectives = make_collectives(Backend::nccl, world(), device_);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(world().size()), 2);
  rows[0] = 0;
  const std::int64_t num_rows = 2 * (world().size() - 1), before = std::max(0, 2 * (world().rank() - 1));
  const at::Tensor all = at::arange(num_rows * 3).view({num_rows, 3});
  const std::int64_t my_rows = rows[static_cast<std::size_t>(world().rank())];
  const at::Tensor mine = at::full({my_rows, 3}, -1, at::TensorOptions().dtype(at::kLong).device(device_));

  collectives->scatter_rows(world().rank() == 0 ? all.to(device_) : at::Tensor(), mine, rows, 0);
  const at::Tensor copy = at::full({5}, world().rank(), at::TensorOptions().device(device_));
  const at::Tensor other = at::full({4, 2}, world().rank(), at::TensorOptions().dtype(at::kLong).device(device_)).t();
  collectives->broadcast({copy, other}, world().size() - 1);
  const at::Tensor sum = at::full({5}, 1.0, at::TensorOptions().dtype(at::kFloat).device(device_));
  collectives->start_all_reduce(sum, {CommDtype::same, 0})->wait();

  EXPECT_TRUE(at::equal(mine.cpu(), all.narrow(0, before, my_rows)));
  EXPECT_EQ(copy[0].item<double>(), world().size() - 1);
  EXPECT_EQ(other[1][3].item<std::int64_t>(), world().size() - 1);
  if (world().rank() > 0) return;
  EXPECT_EQ(sum[4].item<float>(), static_cast<float>(world().size()));
}

TEST_F(Nccl, ReducesGradientsDuringBackward) {
  const auto collectives = make_collectives(Backend::nccl, world(), device_);
  std::vector<at::Tensor> parameters;
  parameters.reserve(5);
  for (int i = 0; i < 5; ++i)
    parameters.push_back(values<float>(1000, 0, i).sin().to(device_).requires_grad_());
  GradientReducer reducer(parameters, *collectives, {{0.006}, Overlap::yes});

  for (int step = 0; step < 3; ++step) {
    reducer.zero();
    reducer.arm();
    at::Tensor sum = parameters[0].sum();
    for (std::size_t i = 1; i < 5; ++i)
      sum = sum.add(parameters[i].sum(), static_cast<double>(world().rank() + 1));
    sum.backward();
    reducer.finish();

    const double ranks = world().size();
    EXPECT_EQ(parameters[0].grad()[7].item<float>(), ranks);
    EXPECT_EQ(parameters[3].grad()[7].item<float>(), ranks * (ranks + 1) / 2);
  }
}

TEST_F(Nccl, TakesBucketsOf25Mebibytes) {
  const auto collectives = make_collectives(Backend::nccl, world(), device_);
  std::vector<at::Tensor> parameters;
  parameters.reserve(5);
  for (int i = 0; i < 5; ++i)
    parameters.push_back(at::zeros({10 << 18}, at::TensorOptions().device(device_)).requires_grad_());  // 10 MiB

  const GradientReducer reducer(parameters, *collectives, {});

  EXPECT_EQ(reducer.num_buckets(), 3U);  // of 10, 20 and 20 MiB: the first may be 1 MiB or one gradient
}

TEST_F(Nccl, RunsInsideAGraph) {
  const auto collectives = make_collectives(Backend::nccl, world(), device_);
  const c10::cuda::CUDAStreamGuard on(c10::cuda::getStreamFromPool(false, device_.index()));
  const at::Tensor flat = collectives->allocate_flat(1000, at::kFloat);
  {
    at::cuda::CUDAGraph graph;
    graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    collectives->start_all_reduce(flat, {})->wait();
    graph.capture_end();

    for (int replay = 0; replay < 3; ++replay) {
      flat.fill_(world().rank() + 1);
      graph.replay();
      at::cuda::getCurrentCUDAStream().synchronize();

      EXPECT_EQ(flat[999].item<float>(), static_cast<float>(world().size() * (world().size() + 1)) / 2);
    }
  }
}

}  // namespace
}  // namespace multicard
