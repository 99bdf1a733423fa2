#pragma once
/// \file Rows that were read once, kept in memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/Communicator.hpp"

namespace multicard {

/// Room for all rows of a set, once a node: what one rank has read, no rank of its node reads again. Memory is taken as
/// rows come in. No rank waits for another: a row that another rank is just putting in counts as absent. Any thread.
class RowCache {
 public:
  /// Collective. Rows of equal size. \throws EnvironmentError on all ranks when the ranks of a node cannot share
  /// memory.
  RowCache(std::int64_t num_rows, std::int64_t bytes_per_row, const Communicator& communicator);
  /// Collective. Rows of different sizes. \param ends of each row in bytes, if all rows followed each other
  RowCache(std::vector<std::int64_t> ends, const Communicator& communicator);

  /// Memory of a node once it holds all of `num_rows` rows of equal size.
  static std::int64_t bytes(std::int64_t num_rows, std::int64_t bytes_per_row);
  /// This rank's part of the node's memory once it holds the first `num_rows` rows, if its ranks are counted alike.
  std::int64_t bytes_of_rank(std::int64_t num_rows) const;

  /// Copies bytes of the row from its byte `first` on, if the row is there.
  bool get(std::int64_t row, std::span<std::uint8_t> bytes, std::int64_t first = 0) const;
  /// Keeps the whole row, unless it is there.
  void put(std::int64_t row, std::span<const std::uint8_t> bytes);

 private:
  void make_memory(const Communicator& communicator);
  std::uint8_t* state_of(std::int64_t row) const;
  /// Bytes of the rows before `row`.
  std::int64_t begin_of(std::int64_t row) const;

  std::int64_t num_rows_, bytes_per_row_ = 0;
  std::vector<std::int64_t> ends_;  ///< empty for rows of equal size
  std::int64_t ranks_on_node_ = 1;
  std::shared_ptr<std::uint8_t> memory_;  ///< all rows, then a state of each
};

}  // namespace multicard
