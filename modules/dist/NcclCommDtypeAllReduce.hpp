#pragma once
/// \file All-reduce over NCCL with a 16-bit communication dtype; for the CUDA sources of modules/dist only.

#include <cuda_runtime_api.h>

#include "dist/NcclComm.hpp"
#include "dist/TensorCollectives.hpp"

namespace multicard {

/// Every rank gets one part of all ranks' values, adds it in float32 in rank order and gives the rounded sum to all:
/// the bytes of an all-reduce of half the width, whose own additions would round after every rank.
class NcclCommDtypeAllReduce {
 public:
  NcclCommDtypeAllReduce(NcclComm& nccl, int rank, int num_ranks) : nccl_(nccl), rank_(rank), num_ranks_(num_ranks) {}

  /// Collective. In place; puts everything on `stream`, which is the current one. \param options comm_dtype not same
  void all_reduce(const at::Tensor& flat, const ReduceOptions& options, cudaStream_t stream);
  /// Collective. The first half of it: this rank's part of `flat`, which has an equal one for each rank, gets its sum.
  void reduce_scatter(const at::Tensor& flat, CommDtype comm_dtype, cudaStream_t stream);

 private:
  /// Rank r's row of `words` goes to rank r; row r of the result came from rank r.
  at::Tensor exchange_rows(const at::Tensor& words, cudaStream_t stream);
  /// Gathers rank r's row r, on all ranks or on the root.
  void gather_rows(const at::Tensor& words, std::optional<int> root, cudaStream_t stream);

  NcclComm& nccl_;
  int rank_, num_ranks_;
};

}  // namespace multicard
