#pragma once
/// \file Where the sequences of packed rows lie.

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "base/RowShape.hpp"
#include "kernels/RopeTable.hpp"

namespace multicard {

/// Consecutive tokens that see each other.
struct TokenSpan {
  std::int64_t first = 0, length = 0;
};

/// Where the sequences of a batch lie among its tokens, all rows one after the other.
struct SequencePlan : torch::CustomClassHolder {
  std::vector<TokenSpan> sequences;  ///< in order, without padding
  std::int64_t num_tokens = 0, longest = 0;
  at::Tensor positions;    ///< int64 [tokens], on the device; each sequence's and each padding's begin at 0
  at::Tensor boundaries;   ///< int32 on a GPU: where sequences and paddings begin, and the end; else undefined
  at::Tensor sequence_of;  ///< int64 [tokens], on the device: number of the sequence (0 in padding)
  RopeTable rope;          ///< of the positions

  /// Of rows that are `width` tokens wide. DataError for a row that is longer.
  static c10::intrusive_ptr<SequencePlan> of_rows(std::span<const RowShape> shapes, std::int64_t width,
                                                  at::Device device);
  /// New tokens of sequences that have been read up to there, one sequence after the other.
  static c10::intrusive_ptr<SequencePlan> of_continuations(std::span<const TokenSpan> positions, at::Device device);
};

}  // namespace multicard
