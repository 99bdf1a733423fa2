#pragma once
/// \file Sums over MPI whose values travel in 16 bits; for modules/dist only.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/Communicator.hpp"
#include "dist/TensorCollectives.hpp"

namespace multicard {

/// Every rank gets one part of all ranks' values, adds it in float32 in rank order and gives the rounded sum to all:
/// the bytes of an MPI_Allreduce of half the width, whose own additions would round after every rank.
class WireSum {
 public:
  explicit WireSum(const Communicator& communicator) : communicator_(communicator) {}

  /// Collective. In place; the result is representable in the wire's type. \param wire not same
  void all_reduce(float* values, std::size_t count, Wire wire);
  /// The same for values that have the wire's type.
  void all_reduce(std::uint16_t* words, std::size_t count, Wire wire);

 private:
  Communicator communicator_;
  std::vector<std::uint16_t> words_, received_;
  std::vector<float> total_, one_;
};

}  // namespace multicard
