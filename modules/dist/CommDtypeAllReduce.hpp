#pragma once
/// \file All-reduce over MPI with a 16-bit communication dtype; for modules/dist only.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/Communicator.hpp"
#include "dist/SegmentedAllReduce.hpp"
#include "dist/TensorCollectives.hpp"

namespace multicard {

/// A SegmentedAllReduce of 16-bit words that adds in float32, in rank order, and rounds once; the additions of an
/// MPI_Allreduce would round after every rank.
class CommDtypeAllReduce {
 public:
  /// \param counter as of SegmentedAllReduce
  explicit CommDtypeAllReduce(const Communicator& communicator, std::shared_ptr<ReceivedCounter> counter = nullptr)
      : words_all_reduce_(communicator, std::move(counter)) {}

  /// Collective. In place; the result is representable in that type. \param comm_dtype not same
  void all_reduce(float* values, std::size_t count, CommDtype comm_dtype);
  /// The same for values that already have that type.
  void all_reduce(std::uint16_t* words, std::size_t count, CommDtype comm_dtype);

 private:
  SegmentedAllReduce words_all_reduce_;
  std::vector<std::uint16_t> words_;
  std::vector<float> total_, one_;
};

}  // namespace multicard
