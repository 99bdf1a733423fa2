#pragma once
/// \file Parameters of which each rank updates a part.

#include <cstdint>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "dist/SplitParameters.hpp"
#include "dist/TensorCollectives.hpp"

namespace multicard {

/// Elements of a parameter that follow each other in memory.
struct ParameterPiece {
  std::size_t parameter = 0;  ///< place in the list of parameters
  std::int64_t first = 0, count = 0;
  bool is_first_copy = true;  ///< of those that other ranks have too
};

/// The pieces of parameters that are in a rank's parts of rows: of each parameter at most one a rank.
class ParameterPieces {
 public:
  /// Collective. \param parameters in any order, each without gaps in memory \param rows each of which is in one; their
  /// collectives are used as long as this \param collectives of the rows whose parameters each rank has whole
  ParameterPieces(const std::vector<at::Tensor>& parameters, std::vector<ParameterRow> rows,
                  TensorCollectives& collectives);

  /// Those of this rank, in the order of rows.
  const std::vector<ParameterPiece>& own() const { return own_; }
  /// Of each of them, one dimension: views of the parameters, or of what the rank holds of them, and of gradients.
  /// @{
  const std::vector<at::Tensor>& values() const { return values_; }
  const std::vector<at::Tensor>& gradients() const { return gradients_; }
  /// @}

  /// Collective. After values() have changed: gives all ranks all values of the parameters that they hold whole.
  void share();

  /// What a rank keeps for its pieces, and where that of all ranks goes.
  struct State {
    std::vector<at::Tensor> own;    ///< of each piece, one dimension; undefined where there is none
    std::vector<at::Tensor> whole;  ///< of each parameter, in the order of its memory, one dimension, on any device
                                    ///< (meta: not wanted on this rank); undefined where there is none
    std::int64_t ratio = 1;         ///< elements of a parameter that one element of the state is for, at least
  };
  /// Collective. Puts what all ranks keep together, of several copies what those of the first one keep; kinds and sizes
  /// are equal on all ranks.
  void gather(const State& state);

 private:
  struct Packed {
    ParameterPiece piece;
    std::int64_t at = 0, bytes = 0;  ///< among what a rank sends of a row
  };
  /// The pieces of a rank in a row.
  std::vector<ParameterPiece> pieces_of(std::size_t row, int rank) const;
  std::int64_t most_sent(std::size_t row, int rank) const;
  std::vector<Packed> packed(std::size_t row, int rank, const State& state) const;
  void gather_row(std::size_t row, const State& state);
  /// Memory for what this rank sends, and for what all do.
  std::pair<at::Tensor, at::Tensor> room_for(std::int64_t bytes, int num_ranks) const;

  std::vector<ParameterRow> rows_;
  std::vector<std::vector<std::size_t>> numbers_;  ///< of the members of rows, in the list of parameters
  std::vector<ParameterPiece> own_;
  std::vector<at::Tensor> values_, gradients_;
  State shared_;                ///< the values
  at::Tensor sent_, received_;  ///< uint8, for what the largest row with whole parameters needs
};

}  // namespace multicard
