#pragma once
/// \file The innermost loops of language models over rows of tokens, compiled once for each instruction set.

#include <cstdint>

#include "kernels/cpu/Storage.hpp"

namespace multicard {

/// Matrices are [rows, size], row-major, without gaps, of storage type S; what is computed in between is Compute<S>.
template <typename S>
struct TokenKernels {
  using C = Compute<S>;

  /// stream = x + delta, scale [rows] = 1 / sqrt(mean(stream^2) + epsilon), normed = stream * scale * weight. Without
  /// delta (null) the stream is x and is not written.
  void (*add_norm)(const S* x, const S* delta, const C* weight, std::int64_t rows, std::int64_t size, C epsilon,
                   S* stream, S* normed, C* scale);
  /// dx = the gradient of stream through normed, plus dstream (may be null).
  void (*norm_gradient)(const S* dnormed, const S* dstream, const S* stream, const C* weight, const C* scale,
                        std::int64_t rows, std::int64_t size, S* dx);
  /// y = silu(gate) * up of rows [gate, up] of 2 size values.
  void (*swiglu)(const S* gate_and_up, std::int64_t rows, std::int64_t size, S* y);
  void (*swiglu_gradient)(const S* dy, const S* gate_and_up, std::int64_t rows, std::int64_t size, S* dgate_and_up);
  /// Rotates the pairs (i, i + dim / 2) of `heads` heads at the start of each row in place, by angles of cosine and
  /// direction * sine [rows, dim / 2]. Rows begin `stride` values apart.
  void (*rope)(S* x, std::int64_t rows, std::int64_t stride, std::int64_t heads, std::int64_t dim, const C* cos,
               const C* sin, C direction);
  /// y = x times `factor`, or times 0 where the bits that seeded_dropout() gives the value, number `first` + i of its
  /// tensor, are below `threshold`.
  void (*drop)(const S* x, std::int64_t count, std::uint64_t first, std::uint64_t key, std::uint64_t threshold,
               C factor, S* y);
  /// log(sum(exp(logits))) of one row.
  C (*log_sum_exp)(const C* logits, std::int64_t size);
  /// logits = exp(logits - shift) in place, one row.
  void (*exponentials)(C* logits, std::int64_t size, C shift);
};

/// The kernels for the instruction set of this CPU.
template <typename S>
const TokenKernels<S>& token_kernels();

}  // namespace multicard
