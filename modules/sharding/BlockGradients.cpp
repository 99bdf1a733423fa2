#include "sharding/BlockGradients.hpp"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

namespace multicard {

BlockGradients::BlockGradients(std::vector<Leaves> blocks, const ShardRanks& ranks, CommDtype comm_dtype)
    : ranks_(ranks), collectives_(*ranks.group), blocks_(std::move(blocks)) {
  const at::ScalarType type = blocks_.front().members.front().first.scalar_type();
  comm_dtype_ = comm_dtype_for(type, comm_dtype);
  std::int64_t most = 0;
  for (const Leaves& block : blocks_)
    most = std::max(most, block.part * collectives_.size());
  // What the ranks of a node allocate together comes before what each allocates by itself, and may fail in alone.
  for (Row& row : rows_)
    row.elements = collectives_.allocate_flat(most, type);
  const auto options = at::TensorOptions().dtype(type).device(collectives_.device());
  for (const Leaves& block : blocks_)
    parts_.push_back(ranks.copies ? ranks.copies->allocate_flat(block.part, type) : at::zeros({block.part}, options));
}

void BlockGradients::begin(std::int64_t block) {
  const at::NoGradGuard no_grad;
  const Leaves& leaves = blocks_.at(static_cast<std::size_t>(block));
  Row& row = row_of(block);
  settle(row);
  row.elements.narrow(0, 0, leaves.part * collectives_.size()).zero_();
  for (const auto& [leaf, first] : leaves.members)
    leaf.mutable_grad() = row.elements.narrow(0, first, leaf.numel()).as_strided(leaf.sizes(), leaf.strides());
}

void BlockGradients::end(std::int64_t block) {
  const Leaves& leaves = blocks_.at(static_cast<std::size_t>(block));
  for (const auto& [leaf, first] : leaves.members)
    leaf.mutable_grad().reset();
  Row& row = row_of(block);
  row.block = block;
  row.work =
      collectives_.start_reduce_scatter(row.elements.narrow(0, 0, leaves.part * collectives_.size()), comm_dtype_);
}

void BlockGradients::settle(Row& row) {
  if (!row.work) return;
  const at::NoGradGuard no_grad;
  row.work->wait();
  row.work.reset();
  const at::Tensor& part = parts_[static_cast<std::size_t>(row.block)];
  part.add_(row.elements.narrow(0, collectives_.rank() * part.numel(), part.numel()));
}

void BlockGradients::settle_all() {
  for (Row& row : rows_)
    settle(row);
}

void BlockGradients::finish() {
  settle_all();
  if (ranks_.copies == nullptr) return;
  std::vector<std::unique_ptr<Work>> sums;
  for (const at::Tensor& part : parts_)
    sums.push_back(ranks_.copies->start_all_reduce(part, {comm_dtype_, {}}));
  for (const std::unique_ptr<Work>& sum : sums)
    sum->wait();
}

void BlockGradients::zero() {
  settle_all();
  const at::NoGradGuard no_grad;
  for (const at::Tensor& part : parts_)
    part.zero_();
}

std::int64_t BlockGradients::bytes() const {
  std::int64_t bytes = 0;
  for (const at::Tensor& part : parts_)
    bytes += static_cast<std::int64_t>(part.nbytes());
  for (const Row& row : rows_)
    bytes += static_cast<std::int64_t>(row.elements.nbytes());
  return bytes;
}

}  // namespace multicard
