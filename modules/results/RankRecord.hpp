#pragma once
/// \file What one rank measures of a run, and how the parts of a run become the whole.
///
/// A record is put together where things are measured: the code that measures adds a column to one of its groups,
/// or a table, under a name of its own. Everything else (gathering the records of all ranks, adding what was recorded
/// before a resume or a move, writing and reading results files) knows the groups of for_each_group() and their rules,
/// and no names.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/Measures.hpp"
#include "results/RowColumn.hpp"

namespace multicard {

constexpr auto columns_of(const CommunicationTotals* /*row*/) {
  using Row = CommunicationTotals;
  return std::tuple(column("calls", &Row::calls), column("payload_bytes", &Row::payload_bytes),
                    column("bus_bytes", &Row::bus_bytes), column("seconds_total", &Row::seconds_total),
                    column("seconds_exposed", &Row::seconds_exposed),
                    column("seconds_skew", &Row::seconds_skew, Since::later));
}

constexpr auto columns_of(const FileTotals* /*row*/) {
  using Row = FileTotals;
  return std::tuple(column("count", &Row::calls), column("bytes", &Row::bytes), column("seconds", &Row::seconds),
                    column("lock_seconds", &Row::lock_seconds));
}

/// A table of one rank whose rows have names: what it counted of each kernel, or of each operator in each phase.
struct RankTable {
  using Key = std::vector<std::string>;

  std::vector<std::string> keys{"name"};              ///< the columns that name a row, in alphabetical order
  std::map<std::string, Merge> rules;                 ///< of each other column: total or largest
  std::map<Key, std::map<std::string, double>> rows;  ///< by the values of `keys`: that of each other column

  bool operator==(const RankTable&) const = default;
};

/// Adds what a later part of a run has recorded, by the rule of each column.
void add_part(RankTable& table, const RankTable& since);

/// Everything one rank knows about one run. Per-step vectors have one element for each of `steps`.
struct RankRecord {
  std::string clock = "host";  ///< "host" or "device"
  std::int64_t first_step = 0;
  std::vector<StepTimes> steps;                             ///< absent_step() where this rank took no part
  std::vector<std::int64_t> samples;                        ///< of this rank, per step
  std::map<std::string, std::vector<std::int64_t>> counts;  ///< per step: tokens, trained_tokens, computed_tokens
  std::map<std::string, std::vector<double>>
      extra_times;                                    ///< per step: seconds besides the phases, e.g. host_data_wait
  std::map<std::string, std::vector<double>> epochs;  ///< train, evaluate, checkpoint: seconds
  std::map<std::string, std::int64_t> memory;         ///< e.g. host_peak_bytes, "model/parameters"
  std::map<std::string, CommunicationTotals> communication;  ///< by kind, e.g. "all_reduce"
  std::map<std::string, std::int64_t> transfers;             ///< by direction, e.g. "host_to_device"
  /// Samples over time, columns of equal length: `time_s`, `cpu_s`, `resident_bytes`, …
  std::map<std::string, std::vector<double>> resources;
  std::map<std::string, RankTable> tables;  ///< by path in the run, e.g. "profile/kernels"
};

/// A group of columns of a results file: datasets below /runs/<run>/PATH, one for each name.
template <Merge kMerge>
struct RecordGroup {
  const char* path;
};

/// \name Columns per step that stand in members of their own
/// @{
inline std::map<std::string, std::vector<double>>& times_of(RankRecord& record) {
  return record.extra_times;
}
inline const std::map<std::string, std::vector<double>>& times_of(const RankRecord& record) {
  return record.extra_times;
}
/// @}

/// Calls `visit(group, columns...)` for every group of named columns, with those of each of `records`: this is where
/// groups are defined. \param records RankRecord, or RunData, whose groups hold the columns of all ranks
template <class Visit, class... Records>
void for_each_group(Visit&& visit, Records&... records) {
  visit(RecordGroup<Merge::per_step>{"steps"}, records.counts...);
  visit(RecordGroup<Merge::per_step>{"steps"}, times_of(records)...);
  visit(RecordGroup<Merge::per_epoch>{"epochs"}, records.epochs...);
  visit(RecordGroup<Merge::largest>{"memory"}, records.memory...);
  visit(RecordGroup<Merge::total>{"communication"}, records.communication...);
  visit(RecordGroup<Merge::total>{"transfers"}, records.transfers...);
  visit(RecordGroup<Merge::sampled>{"resources"}, records.resources...);
}

/// \name What becomes of a record over time
/// @{
struct RecordLength {
  std::size_t steps = 0, samples = 0;
};
RecordLength length_of(const RankRecord& record);
/// The steps and samples after the first `length` of the record, and all else as it stands.
RankRecord tail_of(const RankRecord& record, const RecordLength& length);
/// Adds a later piece of the same record: its steps and samples are appended, all else replaces what was there.
void append(RankRecord& gathered, RankRecord piece);
/// Steps up to `num_steps` in which the rank took no part.
void append_absent(RankRecord& record, std::size_t num_steps);
/// Adds what another part of the run, which came after `before` steps, has recorded: by the rule of each group. A
/// column that is new in it was not measured before.
void continue_record(RankRecord& record, const RankRecord& since, std::size_t before);
/// Subtracts totals of before the record began.
std::map<std::string, CommunicationTotals> totals_since(std::map<std::string, CommunicationTotals> now,
                                                        const std::map<std::string, CommunicationTotals>& before);
/// @}

/// \name A record as bytes, for the same program on another rank
/// @{
std::string to_bytes(const RankRecord& record);
/// \throws CommunicationError when bytes are missing or left over.
RankRecord record_from_bytes(std::string_view bytes);
/// @}

/// \name Tables of all ranks as one table, whose column `rank` says whose a row is
/// @{
/// \param tables by row of the matrices
Table table_of_ranks(const std::map<int, RankTable>& tables);
/// Whether a table was made by table_of_ranks().
bool is_of_ranks(const Table& table);
/// \pre is_of_ranks()
std::map<int, RankTable> tables_by_rank(const Table& table);
/// @}

}  // namespace multicard
