#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "dist/CommDtypeCodec.hpp"
#include "dist/NcclCommDtypeAllReduce.hpp"

namespace multicard {

namespace {

ncclDataType_t nccl_type(const at::Tensor& words) {
  return words.scalar_type() == at::kBFloat16 ? ncclBfloat16 : ncclHalf;
}

/// Row r, as NCCL takes it.
void* row_of(const at::Tensor& words, int r) {
  return static_cast<std::byte*>(words.data_ptr()) + static_cast<std::size_t>(r) * words[r].nbytes();
}

std::size_t row_length(const at::Tensor& words) {
  return static_cast<std::size_t>(words.size(1));
}

/// The rows of `parts` in float32, rounded once: one kernel a row.
void add_in_rank_order(const at::Tensor& parts, at::Tensor rounded) {
  const std::int64_t last = parts.size(0) - 1;
  const at::Tensor total = parts[0].to(at::kFloat);
  for (std::int64_t r = 1; r < last; ++r)
    total.add_(parts[r]);
  at::add_out(rounded, total, parts[last]);
}

}  // namespace

void NcclCommDtypeAllReduce::all_reduce(const at::Tensor& flat, const ReduceOptions& options, cudaStream_t stream) {
  const at::NoGradGuard no_grad;
  if (flat.numel() == 0) return;
  // Rows of equal length, as the gathering wants them; what the last one has too much is never looked at.
  const std::int64_t length = (flat.numel() + num_ranks_ - 1) / num_ranks_;
  // Temporaries are freed when this returns, before the GPU has used them. That is in order, since the stream they are
  // used on is the current one: whatever gets their memory next comes after this on that stream.
  const at::Tensor words = at::empty({num_ranks_, length}, flat.options().dtype(type_of(options.comm_dtype)));
  const at::Tensor used = words.view({-1}).narrow(0, 0, flat.numel());
  used.copy_(flat);
  const at::Tensor parts = exchange_rows(words, stream);
  if (num_ranks_ > 1) add_in_rank_order(parts, words[rank_]);
  gather_rows(words, options.root, stream);
  flat.copy_(used);
}

void NcclCommDtypeAllReduce::reduce_scatter(const at::Tensor& flat, CommDtype comm_dtype, cudaStream_t stream) {
  const at::NoGradGuard no_grad;
  if (flat.numel() == 0) return;
  const at::Tensor words = flat.view({num_ranks_, -1}).to(type_of(comm_dtype));
  const at::Tensor parts = exchange_rows(words, stream), sum = at::empty_like(words[rank_]);
  if (num_ranks_ > 1)
    add_in_rank_order(parts, sum);
  else
    sum.copy_(words[rank_]);
  flat.view({num_ranks_, -1})[rank_].copy_(sum);
}

at::Tensor NcclCommDtypeAllReduce::exchange_rows(const at::Tensor& words, cudaStream_t stream) {
  at::Tensor parts = at::empty_like(words);
  ncclGroupStart();
  for (int r = 0; r < num_ranks_; ++r) {
    ncclSend(row_of(words, r), row_length(words), nccl_type(words), r, nccl_.handle(), stream);
    ncclRecv(row_of(parts, r), row_length(words), nccl_type(words), r, nccl_.handle(), stream);
  }
  nccl_.check(ncclGroupEnd(), "exchange of gradients in 16 bits");
  return parts;
}

void NcclCommDtypeAllReduce::gather_rows(const at::Tensor& words, std::optional<int> root, cudaStream_t stream) {
  constexpr const char* kCall = "gathering of sums in 16 bits";
  const std::size_t length = row_length(words);
  if (!root) {
    nccl_.check(ncclAllGather(row_of(words, rank_), words.data_ptr(), length, nccl_type(words), nccl_.handle(), stream),
                kCall);
    return;
  }
  ncclGroupStart();
  for (int r = 0; rank_ == *root && r < num_ranks_; ++r)
    if (r != rank_) ncclRecv(row_of(words, r), length, nccl_type(words), r, nccl_.handle(), stream);
  if (rank_ != *root) ncclSend(row_of(words, rank_), length, nccl_type(words), *root, nccl_.handle(), stream);
  nccl_.check(ncclGroupEnd(), kCall);
}

}  // namespace multicard
