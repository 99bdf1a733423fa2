#pragma once
// Batch normalisation over replicas on a device against that of the whole batch in float64 on the CPU.

#include <utility>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "nn/vision/GatheredNorm.hpp"

namespace multicard::test {

struct GatheredCase {
  at::ScalarType dtype;
  at::MemoryFormat layout;
  std::vector<std::int64_t> rows;  ///< of each replica
  std::int64_t pixels;             ///< along each side
};

inline const std::vector<GatheredCase> kGatheredCases{
    {at::kFloat, at::MemoryFormat::Contiguous, {3, 1, 2}, 5},
    {at::kFloat, at::MemoryFormat::ChannelsLast, {3, 1, 2}, 5},
    {at::kDouble, at::MemoryFormat::ChannelsLast, {2, 2}, 4},
    {at::kBFloat16, at::MemoryFormat::ChannelsLast, {2, 3}, 4},
    {at::kHalf, at::MemoryFormat::Contiguous, {2, 3}, 4},
    {at::kFloat, at::MemoryFormat::ChannelsLast, {0, 3, 0, 2}, 5},  // some have no rows
    {at::kBFloat16, at::MemoryFormat::Contiguous, {0, 3}, 5},
    {at::kFloat, at::MemoryFormat::Contiguous, {1, 1, 0, 1, 1}, 1},  // single values
    {at::kFloat, at::MemoryFormat::Contiguous, {0, 1}, 1}};          // one value in all

/// Replicas one after the other in one thread, which a GPU's backward needs: all are run several times, and each sum is
/// that of what they gave the time before. The forward sums are right from the second time on, and those of backward,
/// which follow from them, from the third.
class RepeatedReducer : public StatisticsReducer {
 public:
  static constexpr int kTimes = 3;

  explicit RepeatedReducer(int count) : count_(count) {}

  void begin_time() { before_ = std::exchange(given_, std::vector<std::vector<at::Tensor>>{}); }
  void begin_replica(int index) {
    index_ = index;
    call_ = 0;
  }
  int num_replicas() const override { return count_; }
  int replica() const override { return index_; }
  void all_reduce(at::Tensor& flat) override {
    const std::size_t call = call_++;
    if (given_.size() <= call) given_.resize(call + 1);
    given_[call].push_back(flat.clone());
    if (before_.empty()) return;
    flat.zero_();
    for (const at::Tensor& one : before_[call])
      flat.add_(one);
  }

 private:
  int count_, index_ = 0;
  std::size_t call_ = 0;
  std::vector<std::vector<at::Tensor>> given_, before_;  ///< [call][replica]
};

/// What one replica has and computes.
struct GatheredLayer {
  NormTensors norm;
  at::Tensor x, y;

  explicit GatheredLayer(const at::Tensor& values) : x(values.detach().clone().requires_grad_(true)) {
    at::manual_seed(3);
    const std::int64_t channels = x.size(1);
    const auto random = [&] {
      const at::Tensor drawn = at::rand({channels}, at::kDouble) + 0.5;
      return drawn.to(x.device(), x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
    };
    norm = {random().requires_grad_(true), random().requires_grad_(true), random(), random(), at::zeros({}, at::kLong)};
  }
};

inline double gathered_distance(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor found = a.detach().cpu().to(at::kDouble);
  return ((found - b).norm() / (b.norm() + 1e-6)).item<double>();
}

inline void expect_norm_of_whole_batch(const GatheredCase& c, at::Device device) {
  std::int64_t total = 0;
  for (const std::int64_t count : c.rows)
    total += count;
  at::manual_seed(7);
  const auto random = [&] { return at::randn({total, 6, c.pixels, c.pixels}, at::kDouble).to(c.dtype); };
  const at::Tensor x = (random() * 2 + 3).contiguous(c.layout), dy = random().contiguous(c.layout);
  GatheredLayer whole(x.to(at::kDouble));
  whole.y = batch_norm_act(whole.x, whole.norm, {}, Activation::none);
  (whole.y * dy.to(at::kDouble)).sum().backward();

  RepeatedReducer reducer(static_cast<int>(c.rows.size()));
  std::vector<GatheredLayer> parts;
  for (int time = 0; time < RepeatedReducer::kTimes; ++time) {
    parts.clear();
    reducer.begin_time();
    std::int64_t first = 0;
    for (std::size_t i = 0; i < c.rows.size(); ++i) {
      GatheredLayer& part = parts.emplace_back(x.narrow(0, first, c.rows[i]).to(device));
      reducer.begin_replica(static_cast<int>(i));
      part.y = gathered_norm(part.x, part.norm, reducer);
      (part.y * dy.narrow(0, first, c.rows[i]).to(device)).sum().backward();
      first += c.rows[i];
    }
  }

  std::vector<at::Tensor> y, dx;
  at::Tensor dweight = at::zeros({6}, at::kDouble), dbias = dweight.clone();
  const double near = c.dtype == at::kDouble ? 1e-10 : 2e-5;
  const double rounded = c.dtype == at::kBFloat16 ? 4e-3 : c.dtype == at::kHalf ? 1e-3 : near;
  for (const GatheredLayer& part : parts) {
    EXPECT_EQ(part.y.scalar_type(), c.dtype);
    EXPECT_TRUE(part.y.is_contiguous(c.layout));
    y.push_back(part.y.cpu());
    dx.push_back(part.x.grad().cpu());
    dweight = dweight + part.norm.weight.grad().cpu();
    dbias = dbias + part.norm.bias.grad().cpu();
    EXPECT_LT(gathered_distance(part.norm.running_mean, whole.norm.running_mean), near);
    EXPECT_LT(gathered_distance(part.norm.running_var, whole.norm.running_var), near);
    EXPECT_TRUE(at::equal(part.norm.num_batches_tracked, whole.norm.num_batches_tracked));
  }
  EXPECT_LT(gathered_distance(at::cat(y), whole.y.detach()), rounded);
  EXPECT_LT(gathered_distance(dbias, whole.norm.bias.grad()), near);
  if (total * c.pixels * c.pixels == 1) return;  // the others are zero but for rounding
  EXPECT_LT(gathered_distance(at::cat(dx), whole.x.grad()), rounded);
  EXPECT_LT(gathered_distance(dweight, whole.norm.weight.grad()), rounded);
}

}  // namespace multicard::test
