#pragma once
// A model small enough to be computed by hand: y = x w with a squared loss, on rows that are numbers.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>

#include "base/Blocks.hpp"
#include "data/loading/DataSource.hpp"
#include "train/Model.hpp"

namespace multicard::test {

/// Rows r = 0 ... num_rows - 1 in order: input (1, r / num_rows), target 3 - 2 r / num_rows.
class LinearData final : public DataSource {
 public:
  LinearData(std::int64_t num_rows, std::int64_t global_batch)
      : DataSource(Sampler(order(num_rows, global_batch)), at::kCPU, Finishing::on_host), num_rows_(num_rows) {}

  Batch allocate(std::int64_t step) const override {
    const std::int64_t rows = local_rows(step);
    const auto doubles = at::TensorOptions().dtype(at::kDouble);
    return {step,          sampler().epoch_of(step),      rows,
            rows_in(step), at::empty({rows, 2}, doubles), at::empty({rows}, doubles)};
  }
  WorkUnit unit() const override { return {"images", "img"}; }
  std::int64_t work_in(std::int64_t step) const override { return rows_in(step); }
  InputMemory memory(std::int64_t, std::int64_t) const override { return {}; }
  PartShape largest_part(std::int64_t rows, const ReadPlan&) const override { return {rows, 2 * rows}; }
  std::map<std::string, double> identity() const override { return {}; }

 private:
  static SamplerOptions order(std::int64_t num_rows, std::int64_t global_batch) {
    SamplerOptions order;
    order.num_rows = num_rows;
    order.global_batch = global_batch;
    order.shuffle = false;
    return order;
  }
  void open_loader(int rank, int num_ranks, std::int64_t first_step, std::int64_t) override {
    rank_ = rank;
    num_ranks_ = num_ranks;
    step_ = first_step;
  }
  void close_loader() override {}
  Batch read() override {
    const std::int64_t step = step_++;
    const std::vector<std::int64_t> rows = sampler().part(step, rank_, num_ranks_);
    const auto count = static_cast<std::int64_t>(rows.size());
    at::Tensor position = at::empty({count}, at::kDouble);
    for (std::int64_t i = 0; i < count; ++i)
      position[i] = static_cast<double>(rows[static_cast<std::size_t>(i)]) / static_cast<double>(num_rows_);
    return {step,
            sampler().epoch_of(step),
            count,
            rows_in(step),
            at::stack({at::ones({count}, at::kDouble), position}, 1),
            3 - 2 * position};
  }

  std::int64_t num_rows_;
  int rank_ = 0, num_ranks_ = 1;
  std::int64_t step_ = 0;
};

/// Loss: the sum of (x w - y)^2 / 2 over the rows, divided by the rows of the global batch.
class LinearModel final : public Model {
 public:
  explicit LinearModel(double start = 0.5)
      : weight_((at::ones({2}, at::kDouble) * start).set_requires_grad(true)), buffer_(at::ones({1}, at::kDouble)) {}

  std::vector<NamedTensor> parameters() const override { return {{"weight", weight_}}; }
  std::vector<NamedTensor> buffers() const override { return {{"buffer", buffer_}}; }
  bool runs_on_empty_batch() const override { return runs_on_empty_batch_; }
  void begin_step(std::int64_t step, int replica) override { begun_.emplace_back(step, replica); }
  Loss forward(const Batch& batch) override {
    ++num_forwards_;
    const at::Tensor error = batch.inputs.matmul(weight_) - batch.targets;
    Loss loss{(error * error).sum() / 2 / static_cast<double>(batch.global_rows) * loss_factor_};
    if (carries_sums_)
      loss.sums = {{"rows", static_cast<double>(batch.num_rows)},
                   {"mean_position", batch.inputs.select(1, 1).sum() / static_cast<double>(batch.global_rows)},
                   {"share", static_cast<double>(batch.num_rows) / static_cast<double>(batch.global_rows)}};
    return loss;
  }
  std::vector<SumKind> sums() const override {
    if (!carries_sums_) return {};
    return {{"share"}, {"rows", SumUse::rank_count}, {"mean_position"}};
  }
  Evaluation evaluate(DataSource&, const Communicator&) override { return {weight_.sum().item<double>(), 1}; }

  at::Tensor& weight() { return weight_; }
  at::Tensor& buffer() { return buffer_; }
  void set_loss_factor(double factor) { loss_factor_ = factor; }
  /// "rows" counts them, "mean_position" and "share" (which is 1 over all ranks) are a tensor and a number.
  void carry_sums() { carries_sums_ = true; }
  void run_on_empty_batches() { runs_on_empty_batch_ = true; }
  int num_forwards() const { return num_forwards_; }
  /// Step and replica of every begin_step().
  const std::vector<std::pair<std::int64_t, int>>& begun() const { return begun_; }

 private:
  at::Tensor weight_, buffer_;
  double loss_factor_ = 1;
  bool runs_on_empty_batch_ = false, carries_sums_ = false;
  int num_forwards_ = 0;
  std::vector<std::pair<std::int64_t, int>> begun_;
};

}  // namespace multicard::test
