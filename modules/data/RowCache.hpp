#pragma once
/// \file Rows that were read once, kept in memory.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "comm/Communicator.hpp"

namespace multicard {

/// Room for all rows of a set, once a node: what one rank has read, no rank of its node reads again. Memory is taken as
/// rows come in. Nobody waits for anybody: a row that another rank is just putting in counts as absent. Any thread.
class RowCache {
 public:
  /// Collective. \throws EnvironmentError on all ranks when the ranks of a node cannot share memory.
  RowCache(std::int64_t num_rows, std::int64_t bytes_per_row, const Communicator& communicator);

  /// Memory of a node once it holds all rows.
  static std::int64_t bytes(std::int64_t num_rows, std::int64_t bytes_per_row);
  /// This rank's part of that, if the ranks of its node are counted alike.
  std::int64_t bytes_of_rank() const;

  /// Copies the row, if it is there.
  bool get(std::int64_t row, std::span<std::uint8_t> pixels) const;
  /// Keeps the row, unless it is there.
  void put(std::int64_t row, std::span<const std::uint8_t> pixels);

 private:
  std::uint8_t* state_of(std::int64_t row) const;
  std::uint8_t* place_of(std::int64_t row) const;

  std::int64_t num_rows_, bytes_per_row_;
  std::int64_t ranks_on_node_ = 1;
  std::shared_ptr<std::uint8_t> memory_;  ///< pixels of all rows, then a state of each
};

}  // namespace multicard
