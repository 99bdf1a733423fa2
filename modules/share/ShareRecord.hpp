#pragma once
/// \file Who had which ranks when, and why; what a share that resumes must know.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "results/AllocationRecord.hpp"
#include "results/ResultsWriter.hpp"
#include "scheduling/policy/Layout.hpp"

namespace multicard {

/// A task that came while the share ran.
struct ShareArrival {
  std::string name;
  std::string file;   ///< that it came in
  std::string entry;  ///< YAML, with its run deck in it
};

constexpr auto columns_of(const ShareArrival* /*row*/) {
  using Row = ShareArrival;
  return std::tuple(column("name", &Row::name), column("file", &Row::file), column("entry", &Row::entry));
}

/// How far a task has come.
struct ShareProgress {
  double arrived_s = 0;
  std::int64_t num_completed = 0;  ///< steps
};

/// What rank 0 keeps of a share.
struct ShareRecord {
  double elapsed_s = 0;  ///< of earlier launches; in the file: of all until it was written
  std::vector<AllocationInterval> intervals;
  std::vector<AllocationChange> changes;
  std::vector<RejectedChange> rejected;  ///< of several in a row with one reason, the first
  std::vector<AllocationPlacement> placements;
  std::vector<ShareArrival> arrivals;
  std::map<std::string, ShareProgress> progress;  ///< by task
  static constexpr int kSeveral = -1;
  int num_ranks = 0;  ///< of the launches that trained; 0: none has; kSeveral: not all had as many

  /// The task has these ranks from `now` on, or none: ends its interval, and begins another. \param placement as
  /// AllocationInterval has it
  void note(const std::string& task, const RankSet& ranks, double now, double predicted_step_s = 0,
            const std::string& placement = {});
  /// Completed steps of the task, and seconds of a step in its open interval.
  void measure(const std::string& task, std::int64_t num_completed, double step_s);
  /// A decision, which changes something or not.
  void decide(bool is_change, const RejectedChange& decision);
  /// A launch trains on `ranks` ranks; may be called again.
  void begin(int ranks);
  /// Ends all intervals.
  void close(double now);

 private:
  AllocationInterval* open_interval(const std::string& task);
  bool is_changed_ = true;  ///< by the last decision
};

/// As the results file holds it (docs/results_file.md, /allocation).
TableGroup allocation_group(const ShareRecord& record, const std::vector<AllocationBaseline>& baselines,
                            const std::string& policy, const std::string& objective);

/// Where the record of a share stands: OUTPUT/share.json.
std::string record_file(const std::string& output);
/// Whether a file says that it is a record, whole or damaged.
bool is_share_record(const std::string& path);
/// Writes OUTPUT/share.json, whole or not at all. \throws DataError
void write_share_record(const std::string& path, const ShareRecord& record, double now);
/// Reads it; intervals that were open when it was written end there. \throws DataError for a file that is damaged
ShareRecord read_share_record(const std::string& path);

}  // namespace multicard
