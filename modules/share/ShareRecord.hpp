#pragma once
/// \file Who had which ranks when, and why; what a share that resumes must know.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "results/ResultsWriter.hpp"
#include "scheduling/policy/Layout.hpp"

namespace multicard {

/// A task on constant ranks. Seconds count from the first launch, without the time between launches.
struct ShareInterval {
  std::string task;
  RankRange range;
  double start_s = 0;
  double end_s = -1;            ///< below 0: it has not ended
  double predicted_step_s = 0;  ///< when it began; 0: unknown
  double measured_step_s = 0;   ///< median of the newest steps in the last round; 0: none was measured
};

/// A change of one task's ranks.
struct ShareChange {
  double time_s = 0;
  std::string task;
  int from = 0, to = 0;
  double predicted_gain = 0;  ///< of the objective, as a share; of all changes at one time together
  double cost_s = 0;          ///< that the moves were predicted to take
  std::string reason;
};

/// A decision to change nothing.
struct ShareKept {
  double time_s = 0;
  double predicted_gain = 0;  ///< of the best other split, as a share
  double cost_s = 0;          ///< of its moves
  std::string reason;
};

/// A task that came while the share ran.
struct ShareArrival {
  std::string name;
  std::string file;   ///< that it came in
  std::string entry;  ///< YAML, with its run deck in it
};

/// How far a task has come.
struct ShareProgress {
  double arrived_s = 0;
  std::int64_t num_completed = 0;  ///< steps
};

struct ShareBaseline;

/// What rank 0 keeps of a share.
struct ShareRecord {
  double elapsed_s = 0;  ///< of earlier launches; in the file: of all until it was written
  std::vector<ShareInterval> intervals;
  std::vector<ShareChange> changes;
  std::vector<ShareKept> kept;  ///< of several in a row with one reason, the first
  std::vector<ShareArrival> arrivals;
  std::map<std::string, ShareProgress> progress;  ///< by task
  static constexpr int kSeveral = -1;
  int num_ranks = 0;  ///< of the launches that trained; 0: none has; kSeveral: not all had as many

  /// The task has `range` from `now` on (count 0: none): ends its interval, and begins another.
  void note(const std::string& task, const RankRange& range, double now, double predicted_step_s = 0);
  /// Completed steps of the task, and seconds of a step in its open interval.
  void measure(const std::string& task, std::int64_t num_completed, double step_s);
  /// A decision, which changes something or not.
  void keep(bool is_change, const ShareKept& decision);
  /// A launch trains on so many ranks; may be called again.
  void begin(int ranks);
  /// Ends all intervals.
  void close(double now);

 private:
  ShareInterval* open_interval(const std::string& task);
  bool is_changed_ = true;  ///< by the last decision
};

/// As the results file holds it (docs/results_file.md, /allocation).
TableGroup allocation_group(const ShareRecord& record, const std::vector<ShareBaseline>& baselines,
                            const std::string& policy, const std::string& objective);

/// Whether a file says that it is a record, whole or damaged.
bool is_share_record(const std::string& path);
/// Writes OUTPUT/share.json, whole or not at all. \throws DataError
void write_share_record(const std::string& path, const ShareRecord& record, double now);
/// Reads it; intervals that were open when it was written end there. \throws DataError for a file that is damaged
ShareRecord read_share_record(const std::string& path);

}  // namespace multicard
