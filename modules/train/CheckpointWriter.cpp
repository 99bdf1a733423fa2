#include "train/CheckpointWriter.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Log.hpp"
#include "comm/Agreement.hpp"
#include "device/DeviceError.hpp"
#include "io/AtomicFile.hpp"
#include "io/OwnFiles.hpp"
#include "results/ResultsReader.hpp"
#include "results/ResultsWriter.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

/// What may have passed by the next checkpoint.
bool is_passing(const Error& error) {
  // A full disk or a lack of memory. Weights that are not finite stay so.
  return error.code() == ExitCode::data || error.code() == ExitCode::environment;
}

}  // namespace

std::string records_folder(const std::string& output) {
  return output + "/records";
}

std::string records_file(const std::string& output, std::int64_t step) {
  return fmt::format("{}/step_{:08}.h5", records_folder(output), step);
}

namespace {

bool names_records(const std::string& path) {
  const fs::path file(path);
  const std::string stem = file.stem().string();
  return file.extension() == ".h5" && stem.starts_with("step_") && stem.size() > 5 &&
         stem.find_first_not_of("0123456789", 5) == std::string::npos;
}

bool is_records_file(const std::string& path) {
  return names_records(path) && is_results_file(path);
}

void remove_abandoned_records(const std::string& output) {
  for (const std::string& name : names_in(records_folder(output)))
    if (const auto temporary = parse_temporary(name); temporary && names_records(temporary->final_name))
      remove_abandoned(records_folder(output) + "/" + temporary->final_name);
}

}  // namespace

void remove_records(const std::string& output) {
  remove_abandoned_records(output);
  remove_own_files(records_folder(output), is_records_file);
}

void require_own_records(const std::string& output) {
  require_own_folder(records_folder(output), "records of checkpoints", is_records_file);
  if (is_marked(records_folder(output))) return;  // damaged ones are no reason to refuse: they are left alone
  for (const std::string& name : names_in(records_folder(output)))
    if (const std::string path = records_folder(output) + "/" + name; names_records(path) && !is_records_file(path))
      refuse_foreign(path, "records of a checkpoint");
}

void CheckpointWriter::Job::add_new_records() {
  // On the thread: records of long runs are megabytes, whose copying would stop training.
  for (std::size_t rank = 0; rank < new_records.size(); ++rank)
    append(records[rank], std::move(new_records[rank]));
  new_records.clear();
  for (auto& [name, series] : new_metrics) {
    MetricSeries& whole = metrics[name];
    whole.values.insert(whole.values.end(), series.values.begin(), series.values.end());
    whole.steps.insert(whole.steps.end(), series.steps.begin(), series.steps.end());
  }
  new_metrics.clear();
}

std::string CheckpointWriter::Job::write_records() const {
  RankRows rows;
  for (std::size_t rank = 0; rank < records.size(); ++rank)
    rows.merge(continue_rows(before[rank], records[rank], static_cast<int>(rank)));
  RunSummary summary = content.summary;
  summary.metrics = metrics;
  std::string path = records_file(output, content.state.step);
  mark_folder(records_folder(output));
  // By this process alone: the thread must not call MPI for all ranks while training does.
  write_results(path, Communicator::null(), Provenance{}, summary, rows);
  return path;
}

/// Records whose checkpoint is gone, and files that a killed run has left. What the program did not write stays, and
/// so do records whose checkpoint a failing disk does not show.
void CheckpointWriter::Job::remove_stale_records() const {
  const fs::path folder(output);
  remove_abandoned_records(output);
  for (const std::string& name : names_in(records_folder(output))) {
    const fs::path path = fs::path(records_folder(output)) / name;
    std::error_code ignored;
    const fs::file_status checkpoint = fs::status(folder / "checkpoints" / path.stem() / "COMPLETE", ignored);
    if (is_records_file(path.string()) && checkpoint.type() == fs::file_type::not_found) remove_own_file(path.string());
  }
}

void CheckpointWriter::Job::run() {
  const TimePoint start = SteadyClock::now();
  add_new_records();
  try {
    store.write(content.state, copies.wait(), content.best, [&] { return write_records(); });
  } catch (...) {
    remove_stale_records();  // they would fill a full disk further
    throw;
  }
  remove_stale_records();
  seconds = seconds_since(start);
}

CheckpointWriter::CheckpointWriter(const std::string& output, int keep, Communicator communicator)
    : communicator_(communicator), content_(std::make_shared<Job>(output, keep)), gather_(std::move(communicator)) {
  if (!communicator_.is_root()) return;
  content_->before.resize(static_cast<std::size_t>(communicator_.size()));
  content_->records.resize(static_cast<std::size_t>(communicator_.size()));
}

void CheckpointWriter::resume(const std::optional<CheckpointOrigin>& origin, const std::optional<BestCheckpoint>& best,
                              const std::optional<History>& before) {
  if (!communicator_.is_root()) return;
  origin_ = origin;
  best_ = best;
  for (int rank = 0; before && rank < communicator_.size(); ++rank)
    content_->before[static_cast<std::size_t>(rank)] = part_of(*before, rank, communicator_.size());
}

void CheckpointWriter::prepare(const CheckpointParts& parts) {
  if (communicator_.is_root()) with_known_errors([&] { content_->copies.prepare(parts); });
}

bool CheckpointWriter::would_be_best(double score) {
  poll();
  double best = best_ ? best_->score : -std::numeric_limits<double>::infinity();
  // The one under way counts, though it may fail yet: two checkpoints in a row must not both be the best.
  if (under_way_) best = std::max(best, content_->content.best.value_or(best));
  return score > communicator_.broadcast_value(best);
}

// How ranks and threads cooperate. Tensors are equal on all ranks, so rank 0 writes them alone; only the records are
// gathered (write(), collective). On rank 0 the training thread changes the Job only while none is under way: copy()
// waits for the last one, then fills its host buffers; write() adds the new records and starts the thread, which alone
// changes the Job until it ends. Nothing is locked: starting and joining the thread are the only hand-overs, and poll()
// asks BackgroundJob whether the thread has ended before it joins. Copies from a GPU may still be running when the
// thread starts; it waits for them (HostSnapshot::wait), and let_change() makes the next update wait. An error is kept
// in error_ and reported at the next checkpoint or at the end, on all ranks when it cannot pass by itself. The Job is
// shared with the thread, because one that outlives its time-out at the end is detached. A slow disk is no fault: where
// rank 0 may have waited for the thread, the others wait for rank 0 without a time-out (idle_barrier) before they meet.
void CheckpointWriter::copy(const CheckpointParts& parts, const std::vector<at::Tensor>& at_once) {
  if (!communicator_.is_root()) return;
  collect_and_warn();
  copy_error_ = error_of([&] { with_known_errors([&] { content_->copies.take(parts, at_once); }); });
}

void CheckpointWriter::let_change() {
  content_->copies.let_change();
}

void CheckpointWriter::write(CheckpointContent content, const RankRecord& record,
                             const std::map<std::string, MetricSeries>& metrics) {
  communicator_.idle_barrier();
  agree_on(communicator_, copy_error_ ? copy_error_ : lasting_error());
  std::vector<RankRecord> pieces = gather_.gather(record);
  if (!communicator_.is_root()) return;
  content_->add_new_records();  // those of a checkpoint whose thread could not be started
  for (const auto& [name, series] : metrics) {
    std::size_t& sent = num_metrics_sent_[name];
    const auto first = static_cast<std::ptrdiff_t>(sent);
    content_->new_metrics[name] = {{series.values.begin() + first, series.values.end()},
                                   {series.steps.begin() + first, series.steps.end()}};
    // Only what is new: the whole series would be copied with each checkpoint, quadratic over a run.
    sent = series.values.size();
  }
  content_->new_records = std::move(pieces);
  content_->content = std::move(content);
  content_->content.state.origin = origin_;
  error_.reset();
  error_ = error_of([&] { job_.start([content = content_] { content->run(); }); });
  under_way_ = !error_;
  if (error_) warn();
}

void CheckpointWriter::collect() {
  if (!under_way_) return;
  error_ = job_.wait();
  under_way_ = false;
  if (error_) return;
  written_.push_back({content_->content.state.step, content_->seconds});
  if (const auto score = content_->content.best) best_ = {content_->content.state.step, *score};
}

void CheckpointWriter::collect_and_warn() {
  if (!under_way_) return;
  collect();
  warn();
}

void CheckpointWriter::warn() const {
  if (error_ && is_passing(*error_)) log_warning(fmt::format("{} Earlier checkpoints are intact.", error_->what()));
}

std::optional<Error> CheckpointWriter::lasting_error() const {
  return error_ && !is_passing(*error_) ? error_ : std::nullopt;
}

void CheckpointWriter::poll() {
  if (under_way_ && !job_.running()) collect_and_warn();
}

std::vector<WrittenCheckpoint> CheckpointWriter::take_written() {
  return std::exchange(written_, {});
}

void CheckpointWriter::finish() {
  collect();
  communicator_.idle_barrier();
  agree_on(communicator_, error_);
}

void CheckpointWriter::wait() {
  collect_and_warn();
  communicator_.idle_barrier();
  agree_on(communicator_, lasting_error());
}

void CheckpointWriter::settle() {
  collect_and_warn();
  communicator_.idle_barrier();
}

}  // namespace multicard
