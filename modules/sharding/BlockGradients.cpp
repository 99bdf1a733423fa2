#include "sharding/BlockGradients.hpp"

#include <algorithm>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "base/Error.hpp"
#include "dist/RankConditions.hpp"

namespace multicard {

BlockGradients::BlockGradients(std::vector<Leaves> blocks, const ShardRanks& ranks, CommDtype comm_dtype)
    : ranks_(ranks), collectives_(*ranks.group), blocks_(std::move(blocks)) {
  const at::ScalarType type = blocks_.front().members.front().first.scalar_type();
  comm_dtype_ = comm_dtype_for(type, comm_dtype);
  std::array<std::int64_t, kNumRows + 1> elements{};
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (blocks_[i].is_end == (row == kNumRows))
        elements[row] = std::max(elements[row], blocks_[i].part * collectives_.size());
  // What the ranks of a node allocate together comes before what each allocates by itself, and may fail in alone.
  const auto allocate_rows = [&] {
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (elements[row] > 0) rows_[row].elements = collectives_.allocate_flat(elements[row], type);
  };
  if (ranks.copies == nullptr)
    allocate_rows();
  else if (!done_on_every_rank(*ranks.copies, allocate_rows))  // which allocate together next
    throw EnvironmentError("out of memory while the run was set up", "another rank finds no memory for gradients",
                           "Use more ranks, a smaller model or dtype, or devices with more memory.");
  const auto options = at::TensorOptions().dtype(type).device(collectives_.device());
  for (const Leaves& block : blocks_)
    parts_.push_back(ranks.copies ? ranks.copies->allocate_flat(block.part, type) : at::zeros({block.part}, options));
}

BlockGradients::Row& BlockGradients::row_of(std::int64_t block) {
  const bool is_end = blocks_.at(static_cast<std::size_t>(block)).is_end;
  return rows_[static_cast<std::size_t>(is_end ? kNumRows : block % kNumRows)];
}

void BlockGradients::open(std::int64_t block) {
  const at::NoGradGuard no_grad;
  const Leaves& leaves = blocks_.at(static_cast<std::size_t>(block));
  Row& row = row_of(block);
  settle(row);
  row.block = block;
  row.elements.narrow(0, 0, leaves.part * collectives_.size()).zero_();
  for (const auto& [leaf, first] : leaves.members)
    leaf.mutable_grad() = row.elements.narrow(0, first, leaf.numel()).as_strided(leaf.sizes(), leaf.strides());
}

void BlockGradients::begin(std::int64_t block) {
  const Row& row = row_of(block);
  if (row.block != block || row.work) open(block);
}

void BlockGradients::end(std::int64_t block) {
  take_gradients(block);
  Row& row = row_of(block);
  const std::int64_t part = blocks_.at(static_cast<std::size_t>(block)).part;
  row.work = collectives_.start_reduce_scatter(row.elements.narrow(0, 0, part * collectives_.size()), comm_dtype_);
}

void BlockGradients::take_gradients(std::int64_t block) {
  for (const auto& [leaf, first] : blocks_.at(static_cast<std::size_t>(block)).members)
    leaf.mutable_grad().reset();
}

void BlockGradients::settle(Row& row) {
  if (!row.work) return;
  const at::NoGradGuard no_grad;
  row.work->wait();
  row.work.reset();
  const at::Tensor& part = parts_[static_cast<std::size_t>(row.block)];
  part.add_(row.elements.narrow(0, collectives_.rank() * part.numel(), part.numel()));
  row.block = kNone;
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
  for (Row& row : rows_)
    if (row.block != kNone) take_gradients(std::exchange(row.block, kNone));
  for (const at::Tensor& part : parts_)
    part.zero_();
}

std::int64_t BlockGradients::bytes() const {
  std::int64_t bytes = 0;
  for (const at::Tensor& part : parts_)
    bytes += static_cast<std::int64_t>(part.nbytes());
  for (const Row& row : rows_)
    bytes += row.elements.defined() ? static_cast<std::int64_t>(row.elements.nbytes()) : 0;
  return bytes;
}

}  // namespace multicard
