#pragma once
/// \file Files of measured rates.

#include <optional>
#include <string>

#include "config/Words.hpp"
#include "scheduling/rates/RateTable.hpp"

namespace multicard {

/// What a file of rates is like (read_rate_table()).
enum class TableLayout { multicard, rubick, elasticflow, pollux };
inline constexpr Word<TableLayout> kTableLayoutWords[] = {{"multicard", TableLayout::multicard},
                                                          {"rubick", TableLayout::rubick},
                                                          {"elasticflow", TableLayout::elasticflow},
                                                          {"pollux", TableLayout::pollux}};

/// What the placements that a table names mean.
enum class PlacementUse {
  ignored,  ///< the rates hold for any: on a machine of one node they tell only how many GPUs there were
  bound     ///< a rate holds for exactly as many nodes
};

/// Reads a table of rates.
///
/// - multicard: columns gpus, rate (units of work per second; 0: does not run), and, if there, nodes and memory_gb;
/// - rubick (the placements.csv of AlibabaPAI/reconfigurable-dl-scheduler): iterations per second, 1 / iter_time, where
/// 0
///   means that it does not run; the GPUs of a placement are the sum of its digits, of the plans and placements of
///   equally many GPUs the fastest counts;
/// - elasticflow (the throughputs of pkusys/ElasticFlow): iterations per second at a fixed global batch, which selects
///   the row (without it the first);
/// - pollux (placements.csv and scalability.csv of petuum/adaptdl, or the folder of both): samples per second,
///   replicas × local_bsz / step_time, at the local batch where that is largest: the global batch grows with the GPUs.
///
/// Placements of rubick and pollux have a digit for each node; with PlacementUse::bound their rows hold for that many
/// nodes alone, with as many GPUs as the largest digit, and a number of GPUs may then have a rate on several numbers of
/// nodes. Rows keep what was measured (RateRow::source).
///
/// \throws DataError that names file and line
RateTable read_rate_table(const std::string& path, TableLayout layout, std::optional<int> batch = std::nullopt,
                          PlacementUse placements = PlacementUse::ignored);

}  // namespace multicard
