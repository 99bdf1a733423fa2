#include "train/CheckpointWriter.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Clock.hpp"
#include "base/JsonText.hpp"
#include "base/Log.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "device/DeviceError.hpp"
#include "state/SplitFile.hpp"

namespace multicard {

namespace {

/// What may have passed by the next checkpoint.
bool is_passing(const Error& error) {
  // A full disk or a lack of memory. Weights that are not finite stay so.
  return error.code() == ExitCode::data || error.code() == ExitCode::environment;
}

/// The error, defects too, that `body` throws on all ranks.
template <class Body>
std::optional<Error> known_to_all(Body&& body) {
  try {
    body();
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

/// @{ What a rank has written, on its way to rank 0.
std::string to_text(const WrittenFiles& written) {
  nlohmann::json json = nlohmann::json::array();
  for (const auto& [file, parts] : written)
    for (const auto& [ranges, sha256] : parts)
      if (!ranges.empty()) json.push_back({file, ranges_text(ranges), sha256});
  return json_text(json);
}

void add_text(WrittenFiles& written, const std::string& text) {
  for (const auto& entry : nlohmann::json::parse(text))
    written[entry.at(0)].push_back({ranges_in(entry.at(1).get<std::string>()).value(), entry.at(2)});
}
/// @}

}  // namespace

CheckpointWriter::CheckpointWriter(const std::string& output, int keep, Communicator communicator)
    : communicator_(communicator),
      content_(std::make_shared<CheckpointJob>(output, keep)),
      gather_(std::move(communicator)) {
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

CheckpointParts CheckpointWriter::written_here(const CheckpointParts& parts) const {
  return communicator_.is_root() ? parts : pieces_alone(parts);
}

void CheckpointWriter::prepare(const CheckpointParts& parts) {
  const CheckpointParts own = written_here(parts);
  if (!own.empty()) with_known_errors([&] { content_->copies.prepare(own); });
}

bool CheckpointWriter::would_be_best(double score) {
  poll();
  double best = best_ ? best_->score : -std::numeric_limits<double>::infinity();
  // The one under way counts, though it may fail yet: two checkpoints in a row must not both be the best.
  if (phase_ != Phase::none) best = std::max(best, content_->content.best.value_or(best));
  return score > communicator_.broadcast_value(best);
}

// How ranks and threads cooperate. Tensors that are equal on all ranks rank 0 writes alone; records are gathered
// (write(), collective). The training thread changes the Job only while no thread is under way: copy() waits for the
// last one, then fills the host buffers; write() adds the new records and starts the thread, which alone changes the
// Job until it ends. Nothing is locked: starting and joining the thread are the only hand-overs, and poll() asks
// BackgroundJob whether the thread has ended before it joins. Copies from a GPU may still be running when the thread
// starts; it waits for them (HostSnapshot::wait), and let_change() makes the next update wait.
//
// Where tensors are split, a checkpoint has two phases. In `pieces` rank 0 has made the files, and a thread on each
// rank writes what the rank holds of them. Threads do not talk to each other: the training threads learn from the
// status of a step that none is writing any more, and meet in complete(), in which rank 0 receives the digests. In
// `whole` a thread of rank 0 does the rest, as it does all where nothing is split. The phase `pieces` begins and ends
// on all ranks at once. An error of one rank's thread is one of all: rank 0 then removes the files.
//
// An error is kept in error_ and reported at the next checkpoint or at the end, on all ranks when it cannot pass by
// itself. The Job is shared with the thread, because one that outlives its time-out at the end is detached. A slow disk
// is not a fault: where a rank may have waited for its thread, the others wait for it without a time-out (idle_barrier)
// before they meet.
void CheckpointWriter::copy(const CheckpointParts& parts, const std::vector<at::Tensor>& at_once) {
  complete();
  collect_and_warn();
  content_->is_split = std::any_of(parts.begin(), parts.end(), is_split);
  const CheckpointParts own = written_here(parts);
  copy_error_.reset();
  if (!own.empty()) copy_error_ = error_of([&] { with_known_errors([&] { content_->copies.take(own, at_once); }); });
}

void CheckpointWriter::let_change() {
  content_->copies.let_change();
}

void CheckpointWriter::write(CheckpointContent content, const RankRecord& record,
                             const std::map<std::string, MetricSeries>& metrics) {
  communicator_.idle_barrier();
  agree_on(communicator_, copy_error_ ? copy_error_ : lasting_error());
  take(gather_.gather(record), metrics);
  content_->start = SteadyClock::now();
  content_->content = std::move(content);
  content_->content.state.origin = origin_;
  error_.reset();
  if (content_->is_split)
    start_pieces();
  else
    start_whole();
}

void CheckpointWriter::take(std::vector<RankRecord> pieces, const std::map<std::string, MetricSeries>& metrics) {
  if (!communicator_.is_root()) return;
  content_->add_new_records();  // those of a checkpoint that could not be begun
  for (const auto& [name, series] : metrics) {
    std::size_t& sent = num_metrics_sent_[name];
    const auto first = static_cast<std::ptrdiff_t>(sent);
    content_->new_metrics[name] = {{series.values.begin() + first, series.values.end()},
                                   {series.steps.begin() + first, series.steps.end()}};
    // Only what is new: the whole series would be copied with each checkpoint, quadratic over a run.
    sent = series.values.size();
  }
  content_->new_records = std::move(pieces);
}

void CheckpointWriter::start_pieces() {
  error_ = known_to_all([&] {
    agreed_after_long_work(communicator_, [&] {  // a slow disk
      if (communicator_.is_root())
        content_->pending = content_->store.begin(content_->content.state.step, content_->copies.copies());
    });
  });
  if (error_) {
    warn();
    return;
  }
  content_->folder = communicator_.broadcast(content_->pending ? content_->pending->folder() : std::string());
  phase_ = Phase::pieces;
  start_error_ = error_of([&] { job_.start([content = content_] { content->write_pieces(); }); });
}

void CheckpointWriter::start_whole() {
  if (!communicator_.is_root()) return;
  error_ = error_of([&] { job_.start([content = content_] { content->complete(); }); });
  phase_ = error_ ? Phase::none : Phase::whole;
  if (error_) warn();
}

void CheckpointWriter::complete() {
  if (phase_ != Phase::pieces) return;
  collect_pieces();
  warn();
}

void CheckpointWriter::collect_pieces() {
  if (phase_ != Phase::pieces) return;
  phase_ = Phase::none;
  const std::optional<Error> own = start_error_ ? start_error_ : job_.wait();
  communicator_.idle_barrier();
  error_ = known_to_all([&] { agree_on(communicator_, own); });
  if (error_) {
    content_->pending.reset();
    communicator_.idle_barrier();
    return;
  }
  const std::vector<std::string> texts = communicator_.gather(to_text(content_->written));
  content_->written.clear();
  for (const std::string& text : texts)
    add_text(content_->written, text);
  start_whole();
}

void CheckpointWriter::collect() {
  if (phase_ != Phase::whole) return;
  error_ = job_.wait();
  phase_ = Phase::none;
  if (error_) return;
  written_.push_back({content_->content.state.step, content_->seconds});
  if (const auto score = content_->content.best) best_ = {content_->content.state.step, *score};
}

void CheckpointWriter::collect_and_warn() {
  if (phase_ != Phase::whole) return;
  collect();
  warn();
}

void CheckpointWriter::warn() const {
  if (communicator_.is_root() && error_ && is_passing(*error_))
    log_warning(fmt::format("{} Earlier checkpoints are intact.", error_->what()));
}

std::optional<Error> CheckpointWriter::lasting_error() const {
  return error_ && !is_passing(*error_) ? error_ : std::nullopt;
}

void CheckpointWriter::poll() {
  if (phase_ == Phase::whole && !job_.running()) collect_and_warn();
}

std::vector<WrittenCheckpoint> CheckpointWriter::take_written() {
  return std::exchange(written_, {});
}

void CheckpointWriter::finish() {
  collect_pieces();
  collect();
  communicator_.idle_barrier();
  agree_on(communicator_, error_);
}

void CheckpointWriter::wait() {
  complete();
  collect_and_warn();
  communicator_.idle_barrier();
  agree_on(communicator_, lasting_error());
}

void CheckpointWriter::settle() {
  complete();
  collect_and_warn();
  communicator_.idle_barrier();
}

}  // namespace multicard
