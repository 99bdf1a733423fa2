#include "watch/StatusWriter.hpp"

#include <chrono>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/ReplaceFile.hpp"
#include "base/Thread.hpp"
#include "comm/AbortRemovals.hpp"
#include "io/AtomicFile.hpp"
#include "io/OwnFiles.hpp"
#include "results/MetricSink.hpp"
#include "watch/Prometheus.hpp"

namespace multicard {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kInterval{1};
/// Without a change the file is written now and then, so that a reader on another host sees the process work.
constexpr std::chrono::seconds kAtLatest{10};

}  // namespace

void replace_file(const std::string& path, std::string_view bytes) {
  const std::string temporary = temporary_path(path);
  const int ticket = on_abort_remove(temporary);
  try {
    replace_file(path, temporary, bytes);
  } catch (...) {
    cancel_on_abort(ticket);
    throw;
  }
  cancel_on_abort(ticket);
}

StatusWriter::StatusWriter(WatchStatus status, const StatusFiles& files)
    : status_(std::move(status)), next_(SteadyClock::now() + kInterval) {
  targets_.push_back({status_file(files.output), is_status_file, [this] { return status_text(status_); }});
  if (!files.prometheus.empty())
    targets_.push_back({files.prometheus, is_prometheus_file,
                        [this, output = files.output] { return prometheus_text(status_, output); }});
  thread_ = start_thread("the thread that writes status.json", "status", [this] { run(); });
}

StatusWriter::~StatusWriter() {
  finish();
  while (const std::optional<std::string> warning = take_warning())
    log_warning(*warning);
}

void StatusWriter::finish() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
  apply(std::exchange(changes_, {}));
  bool has_ended = false;
  for (const WatchState end : {WatchState::finished, WatchState::failed, WatchState::interrupted})
    has_ended = has_ended || status_.state == name_of(end);
  const bool knows_anything = status_.run || status_.sweep || status_.share;
  if (has_written_ || (has_ended && knows_anything)) write();
}

void StatusWriter::change(Change change) {
  constexpr std::size_t kMost = 200;  // while a file system hangs; later changes hold more than earlier ones
  const std::lock_guard lock(mutex_);
  if (changes_.size() >= kMost) changes_.erase(changes_.begin() + 1, changes_.begin() + kMost / 2);
  changes_.push_back(std::move(change));
}

void StatusWriter::write_soon() {
  {
    const std::lock_guard lock(mutex_);
    if (!has_written_) next_ = SteadyClock::now();
  }
  wake_.notify_all();
}

std::optional<std::string> StatusWriter::take_warning() {
  const std::lock_guard lock(mutex_);
  if (warnings_.empty()) return std::nullopt;
  std::string first = std::move(warnings_.front());
  warnings_.erase(warnings_.begin());
  return first;
}

void StatusWriter::run() {
  TimePoint last{};
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    wake_.wait_until(lock, next_);
    if (is_ending_ || SteadyClock::now() < next_) continue;
    std::vector<Change> changes = std::exchange(changes_, {});
    next_ = SteadyClock::now() + kInterval;
    if (changes.empty() && has_written_ && SteadyClock::now() < last + kAtLatest) continue;
    has_written_ = true;
    lock.unlock();
    apply(changes);
    write();
    lock.lock();
    last = SteadyClock::now();
    next_ = last + kInterval;
  }
}

/// A change that fails is worth a warning, no more: training knows nothing of it.
void StatusWriter::apply(const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    try {
      change(status_);
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      if (warnings_.empty()) warnings_.push_back(fmt::format("a part of status.json is missing: {}", error.what()));
    }
  }
}

void StatusWriter::write() {
  status_.updated = seconds_since_1970();
  for (Target& target : targets_)
    if (!target.has_failed) write_target(target);
}

void StatusWriter::write_target(Target& target) {
  try {
    const bool is_first = !std::exchange(target.is_checked, true);
    if (is_first) target.path = end_of_links(target.path);
    require_own_file(target.path, "the status of this run", target.is_own);  // another's may come while this runs
    if (is_first) {
      fs::create_directories(fs::absolute(target.path).parent_path());
      remove_orphans(target.path + ".");
    }
    replace_file(target.path, target.text());
  } catch (const std::exception& error) {
    target.has_failed = true;
    const std::lock_guard lock(mutex_);
    warnings_.push_back(fmt::format("{} The run continues without it.", error.what()));
  }
}

}  // namespace multicard
