#pragma once
/// \file A run's per-rank data as columns under their paths in the file; for modules/results only.

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "comm/Communicator.hpp"
#include "results/RankRecord.hpp"

namespace multicard {

/// One rank's share of a column: a single value of a dataset [ranks], or a row of a dataset [ranks, length].
using ColumnValue = std::variant<std::int64_t, double, std::vector<std::int64_t>, std::vector<double>>;
/// By path inside the run, e.g. "steps/forward", "communication/all_reduce/calls".
using RankColumns = std::map<std::string, ColumnValue>;

RankColumns to_columns(const RankRecord& record);

/// What a dataset looks like when all ranks have put their rows together.
struct ColumnLayout {
  std::size_t kind = 0;        ///< index in ColumnValue
  std::uint64_t length = 0;    ///< of the longest row; 1 for a single value
  std::uint64_t num_full = 0;  ///< rows that are there in full length

  bool is_integer() const { return kind % 2 == 0; }
  bool is_matrix() const { return kind >= 2; }
};

/// What a run looks like; equal on all ranks.
struct RunLayout {
  std::uint64_t num_ranks = 0;  ///< rows of every dataset
  std::string clock;            ///< empty when no rank has a row
  std::int64_t first_step = 0;
  std::map<std::string, ColumnLayout> columns;
};

/// Collective. `rows` are those that this rank holds. Rows of different first step, number of steps or clock, rows held
/// twice and records that contradict themselves are a CommunicationError on all ranks.
RunLayout agree_on_layout(const Communicator& communicator, const std::map<int, RankRecord>& rows);

}  // namespace multicard
