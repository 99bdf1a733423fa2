#pragma once
/// \file What a run, a sweep or a share says of itself while it works: the content of OUTPUT/status.json
/// (docs/watching.md, "The status file").

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/Estimate.hpp"
#include "base/Measures.hpp"
#include "results/AllocationRecord.hpp"
#include "results/RowColumn.hpp"

namespace multicard {

/// What it does at the moment, or how it has ended.
enum class WatchState { starting, training, evaluating, writing, finished, failed, interrupted };
inline constexpr std::array<const char*, 7> kWatchStateNames{"starting", "training", "evaluating", "writing",
                                                             "finished", "failed",   "interrupted"};
inline const char* name_of(WatchState state) {
  return kWatchStateNames[static_cast<std::size_t>(state)];
}
inline bool is_end(WatchState state) {
  return state >= WatchState::finished;
}

/// A point of the curves. Numbers that are not known are NaN, here and below; the file leaves them out.
struct WatchPoint {
  std::int64_t step = 0;  ///< completed steps
  double loss = kNone;    ///< mean over the steps since the point before
  double rate = kNone;    ///< units per second, over the same steps
};

/// A rank's newest steps.
struct WatchedRank {
  std::int64_t rank = 0;
  double step_s = kNone, own_s = kNone;               ///< means; own_s: without waiting for collectives
  double data_share = kNone, reduce_share = kNone;    ///< of step_s
  double core_wait_share = kNone, throttled = kNone;  ///< as RankFacts has them
};

/// Bytes of one kind on the rank that writes.
struct WatchedMemory {
  std::string kind;  ///< host, device_tensors, device_reserved
  std::int64_t now = 0, peak = 0;
};

struct WatchedFinding {
  std::string id, text, setting;
  double share = kNone;
};

struct WatchedCheckpoint {
  std::int64_t step = -1;     ///< updates made; -1: none has been written
  double time = kNone;        ///< seconds since 1970
  double write_s = kNone;     ///< how long writing took
  double training_s = kNone;  ///< how long training waited for it
};

/// One run.
struct WatchedRun {
  std::string name;    ///< of a variant or a task; empty: the run itself
  std::string output;  ///< its folder
  std::string state;   ///< one of kWatchStateNames
  std::int64_t ranks = 0, hosts = 0;
  std::int64_t step = 0, total_steps = 0;  ///< completed, and all
  std::int64_t epoch = 0, epochs = 0;      ///< from 1
  double loss = kNone, learning_rate = kNone;
  double rate = kNone;            ///< units per second, mean of the newest steps
  std::string unit;               ///< images, tokens
  double step_s = kNone;          ///< mean of the newest steps
  double worked_units = 0;        ///< since it began here
  double started = kNone;         ///< seconds since 1970
  double left_s = kNone;          ///< of training
  std::int64_t evaluated_at = 0;  ///< updates made, of `evaluation`
  std::string problem;            ///< the last one

  std::array<double, kPhaseNames.size()> phases{};  ///< shares of step_s, of the rank that writes
  std::map<std::string, double> evaluation;         ///< the last one: eval_loss, eval_accuracy, …
  std::map<std::string, std::int64_t> predicted;    ///< bytes by kind
  WatchedCheckpoint checkpoint;
  std::vector<WatchedRank> per_rank;
  std::vector<WatchedMemory> memory;
  std::vector<WatchedFinding> findings;
  std::vector<WatchPoint> history;
};

/// The variants of a sweep.
struct WatchedSweep {
  std::int64_t total = 0, done = 0, failed = 0;  ///< done: those that failed among them
  std::string variant;                           ///< that runs now: its label
  std::string output;                            ///< its folder
  double left_s = kNone;                         ///< as the runs that have ended let expect
};

/// A task of a share.
struct WatchedTask {
  std::string name, state;  ///< waiting, training, complete, stopped, failed
  std::string output;       ///< its folder, with a status file of its own once it has trained
  std::int64_t first_rank = 0, ranks = 0;
  std::string rank_list = {};  ///< "0-2, 5"
  std::int64_t step = 0, total_steps = 0;
  double step_s = kNone, left_s = kNone;
};

struct WatchedShare {
  std::int64_t ranks = 0;
  double elapsed_s = 0;  ///< since the first launch
  double next_decision_s = kNone;
  std::string policy, objective;
  std::vector<WatchedTask> tasks;
  std::vector<AllocationChange> changes;  ///< the newest
};

/// The whole file: the process that writes, and what it works on.
struct WatchStatus {
  std::string kind;     ///< run, sweep, share
  std::string state;    ///< of all of it
  std::string version;  ///< of the program
  std::string host;     ///< of rank 0
  std::int64_t pid = 0;
  std::int64_t process_start = 0;           ///< kernel ticks, by which a later process of that number is known
  double started = kNone, updated = kNone;  ///< seconds since 1970
  std::string problem;                      ///< the last one
  /// Not in the file: what the run has measured is still to be written when it has ended, by its command, which says
  /// how.
  bool is_ended_by_command = false;

  std::optional<WatchedRun> run;  ///< of a sweep that of the variant
  std::optional<WatchedSweep> sweep;
  std::optional<WatchedShare> share;
};

/// \name Members of the JSON objects that hold one value
/// @{
constexpr auto columns_of(const WatchedRank* /*row*/) {
  using Row = WatchedRank;
  return std::tuple(column("rank", &Row::rank), column("step_s", &Row::step_s), column("own_s", &Row::own_s),
                    column("data_share", &Row::data_share), column("reduce_share", &Row::reduce_share),
                    column("core_wait_share", &Row::core_wait_share), column("throttled_share", &Row::throttled));
}
constexpr auto columns_of(const WatchedMemory* /*row*/) {
  using Row = WatchedMemory;
  return std::tuple(column("kind", &Row::kind), column("now_bytes", &Row::now), column("peak_bytes", &Row::peak));
}
constexpr auto columns_of(const WatchedFinding* /*row*/) {
  using Row = WatchedFinding;
  return std::tuple(column("id", &Row::id), column("text", &Row::text), column("setting", &Row::setting),
                    column("share", &Row::share));
}
constexpr auto columns_of(const WatchedCheckpoint* /*row*/) {
  using Row = WatchedCheckpoint;
  return std::tuple(column("step", &Row::step), column("time", &Row::time), column("write_s", &Row::write_s),
                    column("training_waited_s", &Row::training_s));
}
constexpr auto columns_of(const WatchedRun* /*row*/) {
  using Row = WatchedRun;
  return std::tuple(
      column("name", &Row::name), column("output", &Row::output), column("state", &Row::state),
      column("ranks", &Row::ranks), column("hosts", &Row::hosts), column("step", &Row::step),
      column("total_steps", &Row::total_steps), column("epoch", &Row::epoch), column("epochs", &Row::epochs),
      column("loss", &Row::loss), column("learning_rate", &Row::learning_rate), column("rate", &Row::rate),
      column("unit", &Row::unit), column("step_s", &Row::step_s), column("worked_units", &Row::worked_units),
      column("started", &Row::started), column("left_s", &Row::left_s), column("evaluated_at", &Row::evaluated_at),
      column("problem", &Row::problem));
}
constexpr auto columns_of(const WatchedSweep* /*row*/) {
  using Row = WatchedSweep;
  return std::tuple(column("total", &Row::total), column("done", &Row::done), column("failed", &Row::failed),
                    column("variant", &Row::variant), column("output", &Row::output), column("left_s", &Row::left_s));
}
constexpr auto columns_of(const WatchedTask* /*row*/) {
  using Row = WatchedTask;
  return std::tuple(column("name", &Row::name), column("state", &Row::state), column("output", &Row::output),
                    column("first_rank", &Row::first_rank), column("ranks", &Row::ranks), column("step", &Row::step),
                    column("total_steps", &Row::total_steps), column("step_s", &Row::step_s),
                    column("left_s", &Row::left_s), column("rank_list", &Row::rank_list, Since::later));
}
constexpr auto columns_of(const WatchedShare* /*row*/) {
  using Row = WatchedShare;
  return std::tuple(column("ranks", &Row::ranks), column("elapsed_s", &Row::elapsed_s),
                    column("next_decision_s", &Row::next_decision_s), column("policy", &Row::policy),
                    column("objective", &Row::objective));
}
constexpr auto columns_of(const WatchStatus* /*row*/) {
  using Row = WatchStatus;
  return std::tuple(column("kind", &Row::kind), column("state", &Row::state), column("version", &Row::version),
                    column("host", &Row::host), column("pid", &Row::pid), column("process_start", &Row::process_start),
                    column("started", &Row::started), column("updated", &Row::updated),
                    column("problem", &Row::problem));
}
/// @}

/// OUTPUT/status.json.
std::string status_file(const std::string& output);
/// Whether a file says that it is one, whole or damaged.
bool is_status_file(const std::string& path);
/// One line of JSON.
std::string status_text(const WatchStatus& status);
/// \throws DataError for text that is cut off, of another format or version
WatchStatus read_status_text(std::string_view text, const std::string& origin);

/// A status of this process, which begins now.
WatchStatus status_of_process(const std::string& kind);
/// Whether the process that wrote it is running on this host; nothing where it is on another host.
std::optional<bool> is_writer_running(const WatchStatus& status);

}  // namespace multicard
