#pragma once
/// \file Writing the results file (docs/results_file.md).

#include <map>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "results/Provenance.hpp"
#include "results/RankRecord.hpp"

namespace multicard {

/// What /runs/<run>/... holds of the ranks: row of the matrices -> what that rank recorded.
using RankRows = std::map<int, RankRecord>;

/// Collective. Writes a results file with one run: every rank writes the rows it holds, through parallel HDF5, under a
/// temporary name that becomes `path` when the file is whole. A row is held by at most one rank; rows that none holds,
/// columns that a row lacks and epochs beyond a row's end are NaN (integers 0). `summary` and `provenance` are rank
/// 0's. Rows with different first steps, numbers of steps or clocks are a CommunicationError on all ranks; a file of
/// another program that has the name is a DataError, and stays.
void write_results(const std::string& path, const Communicator& communicator, const Provenance& provenance,
                   const RunSummary& summary, const RankRows& rows);

/// Collective. The usual case: each rank's record is the row of its rank.
void write_results(const std::string& path, const Communicator& communicator, const Provenance& provenance,
                   const RunSummary& summary, const RankRecord& record);

/// One process only (rank 0 of a sweep). Writes the results file of several runs: those of `partial_files`, in that
/// order, and the `failed` ones, of which there are no columns. Appears under `path` when whole; the partial files
/// stay. Two runs of one name are a DataError.
void assemble_results(const std::string& path, const std::vector<std::string>& partial_files,
                      const Provenance& provenance, const std::vector<RunSummary>& failed = {});

/// A results file of one run, which gets another name in the file that takes it up.
struct RenamedResults {
  std::string path, run;
};

/// A group of tables in addition to the runs.
struct TableGroup {
  std::string path;  ///< "/allocation"
  std::map<std::string, std::string> attributes;
  std::map<std::string, Table> tables;  ///< by path in the group
};

/// The same for a share: `unstored` are runs of which there is no file.
void assemble_results(const std::string& path, const std::vector<RenamedResults>& parts, const Provenance& provenance,
                      const std::vector<RunSummary>& unstored, const TableGroup& group);

}  // namespace multicard
