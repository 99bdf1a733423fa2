// The tasks of a share: those of its deck, and those that arrive.

#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "share/Share.hpp"

namespace multicard {

namespace {
constexpr auto kLook = std::chrono::milliseconds(200);
}  // namespace

std::unique_ptr<SharedTask> Share::make(const ShareTaskOptions& task) const {
  std::unique_ptr<SharedTask> made = hooks_.make_task(task);
  const int most = made->max_ranks(world_.size());
  if (task.min_ranks > most)
    throw UsageError(fmt::format("task {} cannot run", task.name),
                     fmt::format("it needs {}, and can have {} here", counted(task.min_ranks, "rank"), most),
                     "Start more ranks, or lower its min_ranks.")
        .on_all_ranks();
  return made;
}

void Share::add_tasks() {
  if (const auto& folder = options_.arrivals.folder;
      folder && world_.is_root() && !std::filesystem::is_directory(*folder))
    log_warning(fmt::format("arrivals.folder {} is not a folder (yet): tasks can arrive when it is one", *folder));
  for (const ShareTaskOptions& task : options_.tasks)
    tasks_.push_back(make(task));
  std::int64_t number = world_.broadcast_value(static_cast<std::int64_t>(record_.arrivals.size()));
  record_.arrivals.resize(static_cast<std::size_t>(number));
  for (const ShareArrival& arrival : record_.arrivals)
    add_arrival(arrival);
}

/// Rank 0 knows the entry. A task that cannot be made is one that has failed to come; the others continue.
void Share::add_arrival(const ShareArrival& arrival) {
  const std::string name = world_.broadcast(arrival.name);
  const std::string entry = world_.broadcast(arrival.entry);
  try {
    const ShareTaskOptions task = agreed(world_, [&] {
      std::vector<std::string> unused;
      return read_arrival(Deck::parse(entry, name), options_, unused);
    });
    tasks_.push_back(make(task));
    if (world_.is_root()) log_info(fmt::format("{:>8.1f} s  {} has arrived", now(), name));
  } catch (const Error& error) {
    if (error.scope() != Scope::all_ranks && !world_.is_null()) throw;
    failure_ = failure_.value_or(error.code());
    failed_arrivals_[name] = error.what();
    if (world_.is_root()) log_error(fmt::format("task {}, which has arrived, cannot start: {}", name, error.what()));
  }
}

void Share::take_arrivals() {
  if (!options_.arrivals.folder) return;
  std::vector<ShareArrival> found;
  agreed_after_long_work(world_, [&] {
    if (!world_.is_root()) return;
    found = arrivals_.find(options_, record_);
    if (found.empty()) return;
    ShareRecord with_them = record_;
    for (const ShareArrival& arrival : found) {
      with_them.arrivals.push_back(arrival);
      with_them.progress[arrival.name].arrived_s = now();
    }
    if (error_of([&] { write_share_record(record_file(), with_them, now()); })) {
      found.clear();  // write_record() warns
    } else {
      record_.progress = with_them.progress;
      ArrivalFolder::claim(found);
    }
  });
  found.resize(static_cast<std::size_t>(world_.broadcast_value(static_cast<std::int64_t>(found.size()))));
  for (const ShareArrival& arrival : found) {
    record_.arrivals.push_back(arrival);
    add_arrival(arrival);
  }
}

bool Share::wait_for_arrivals() {
  if (!options_.arrivals.folder || options_.arrivals.wait_s <= 0) return false;
  enum Found : int { nothing, time_is_over, something };
  const TimePoint since = SteadyClock::now();
  for (;;) {
    int found = nothing;
    if (world_.is_root() && seconds_since(since) >= options_.arrivals.wait_s) found = time_is_over;
    if (stop_.stop_requested() || (world_.is_root() && !arrivals_.find(options_, record_).empty())) found = something;
    found = world_.allreduce(found, ReduceOp::max);
    if (found != nothing) return found == something;  // the next round heeds a request to stop
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace multicard
