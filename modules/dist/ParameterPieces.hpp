#pragma once
/// \file Parameters of which each rank updates a part.

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "dist/GradientReducer.hpp"
#include "dist/TensorCollectives.hpp"

namespace multicard {

/// Elements of a parameter that follow each other in memory.
struct ParameterPiece {
  std::size_t parameter = 0;  ///< place in the list of parameters
  std::int64_t first = 0, count = 0;
};

/// The pieces of parameters whose gradients a rank gets from a reducer with Destination::parts: of each parameter at
/// most one a rank. They begin at multiples of BucketPlan::kPartAlignment elements.
class ParameterPieces {
 public:
  /// Collective. \param parameters of the reducer, in its order, each without gaps in memory \param collectives of the
  /// reducer, used as long as this
  ParameterPieces(const std::vector<at::Tensor>& parameters, const GradientReducer& reducer,
                  TensorCollectives& collectives);

  /// Those of this rank, in the order of buckets.
  const std::vector<ParameterPiece>& own() const { return own_; }
  /// Of each of them, one dimension: views of the parameters, and of their gradients.
  /// @{
  const std::vector<at::Tensor>& values() const { return values_; }
  const std::vector<at::Tensor>& gradients() const { return gradients_; }
  /// @}

  /// Collective. After values() have changed: gives all ranks all values.
  void share();

  /// What a rank keeps for its pieces, and where that of all ranks goes.
  struct State {
    std::vector<at::Tensor> own;    ///< of each piece, one dimension; undefined where there is none
    std::vector<at::Tensor> whole;  ///< of each parameter, in the order of its memory, one dimension, on any device
                                    ///< (meta: not wanted on this rank); undefined where there is none
    std::int64_t ratio = 1;         ///< elements of a parameter that one element of the state is for, at least
  };
  /// Collective. Puts what all ranks keep together; kinds and sizes are equal on all ranks.
  void gather(const State& state);

 private:
  struct Packed {
    ParameterPiece piece;
    std::int64_t at = 0, bytes = 0;  ///< among what a rank sends of a bucket
  };
  /// The pieces of a rank in a bucket.
  std::vector<ParameterPiece> pieces_of(std::size_t bucket, int rank) const;
  std::int64_t most_sent(std::size_t bucket, int rank, std::int64_t width) const;
  std::vector<Packed> packed(std::size_t bucket, int rank, const State& state) const;
  void gather_bucket(std::size_t bucket, const State& state);

  TensorCollectives& collectives_;
  struct Bucket {
    std::int64_t part = 0;                                 ///< elements
    std::vector<std::pair<std::size_t, std::int64_t>> at;  ///< parameters, and where they begin
  };
  std::vector<std::int64_t> num_elements_;  ///< of the parameters
  std::vector<Bucket> buckets_;
  std::vector<ParameterPiece> own_;
  std::vector<at::Tensor> values_, gradients_;
  State shared_;                ///< the values
  at::Tensor sent_, received_;  ///< uint8, for what the largest bucket needs
};

}  // namespace multicard
