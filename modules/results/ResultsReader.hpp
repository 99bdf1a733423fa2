#pragma once
/// \file Reading the results file (docs/results_file.md) in one process, without an MPI launch.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/Hdf5.hpp"
#include "results/AllocationRecord.hpp"
#include "results/Provenance.hpp"
#include "results/RankRecord.hpp"

namespace multicard {

/// Rows are ranks; columns are steps or epochs.
template <class T>
struct RankMatrix {
  std::size_t ranks = 0, length = 0;
  std::vector<T> values;  ///< row-major

  std::span<const T> row(std::size_t rank) const { return std::span(values).subspan(rank * length, length); }
  T at(std::size_t rank, std::size_t index) const { return values.at(rank * length + index); }
};

/// One run as the file holds it. A failed one may have nothing but its summary.
struct RunData {
  RunSummary summary;  ///< attributes (without status and error, which have members), metrics, segments, tables
  int ranks = 0;       ///< the largest number of ranks; rows of the matrices
  std::string clock;   ///< "host" or "device"; empty without steps
  std::int64_t first_step = 0;
  std::size_t num_steps = 0;
  std::map<std::string, RankMatrix<double>> times;         ///< [ranks, steps] seconds: step, the phases, host_data_wait
  std::map<std::string, RankMatrix<std::int64_t>> counts;  ///< [ranks, steps]: samples, tokens, ...
  std::map<std::string, RankMatrix<double>> epochs;        ///< [ranks, epochs] seconds: train, evaluate, checkpoint
  std::map<std::string, std::vector<std::int64_t>> memory;  ///< [ranks] bytes, e.g. host_peak_bytes, model/gradients
  std::map<std::string, std::vector<CommunicationTotals>> communication;  ///< [ranks] by kind
  std::map<std::string, std::vector<std::int64_t>> transfers;             ///< [ranks] bytes by direction
  std::map<std::string, RankMatrix<double>> resources;  ///< [ranks, samples]; those that a rank has not taken are NaN
};

inline auto& times_of(RunData& run) {
  return run.times;
}
inline const auto& times_of(const RunData& run) {
  return run.times;
}

/// Whether a file says that it is a results file, whole or damaged. Cheap: libhdf5 does not read it.
bool is_results_file(const std::string& path);

/// Whether a file is read once more to see that it is as it was written.
enum class Seal { check, is_checked };

/// An open results file. What is not one, is damaged, or has a newer schema_version than this program knows is a
/// DataError that says so.
class ResultsFile {
 public:
  static ResultsFile open(const std::string& path, Seal seal = Seal::check);

  const std::string& path() const { return file_.path(); }
  /// created_utc, version, git, command_line, ... of the root.
  const std::map<std::string, Hdf5Value>& attributes() const { return attributes_; }
  Provenance provenance() const;
  std::vector<std::string> run_names() const;
  RunData run(const std::string& name) const;
  /// What a run says of itself, and the tables of one of its groups ("profile"): for what needs no more of large runs.
  RunData run_with_tables(const std::string& name, const std::string& group) const;
  /// Whether a share has written it.
  bool has_allocation() const;
  /// Of a share; empty for other files. \throws DataError for values that no share has
  AllocationRecord allocation() const;
  /// All, in the order of their names.
  std::vector<RunData> runs() const;

 private:
  explicit ResultsFile(Hdf5File file);
  /// \throws DataError where there is no such run
  void require_run(const std::string& name) const;
  Hdf5File file_;
  std::map<std::string, Hdf5Value> attributes_;
};

}  // namespace multicard
