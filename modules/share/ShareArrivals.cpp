#include "share/ShareArrivals.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Log.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"

namespace multicard {

namespace {
constexpr auto kPollingInterval = std::chrono::milliseconds(200);
}  // namespace

ShareArrivals::ShareArrivals(const Communicator& world, const ShareOptions& options, ShareScheduler& scheduler,
                             Owner owner)
    : world_(world),
      options_(options),
      scheduler_(scheduler),
      owner_(std::move(owner)),
      folder_(options.arrivals.folder) {}

void ShareArrivals::warn_of_missing_folder() const {
  if (const auto& folder = options_.arrivals.folder;
      folder && world_.is_root() && !std::filesystem::is_directory(*folder))
    log_warning(fmt::format("arrivals.folder {} is not a folder (yet): tasks can arrive when it is one", *folder));
}

// Only rank 0 has read the record. The others know as many arrivals, empty ones, because add() broadcasts the text of
// each.
void ShareArrivals::add_earlier() {
  const std::int64_t number = world_.broadcast_value(static_cast<std::int64_t>(known().size()));
  known().resize(static_cast<std::size_t>(number));
  for (const ShareArrival& arrival : known())
    add(arrival);
}

void ShareArrivals::add(const ShareArrival& arrival) {
  const std::string name = world_.broadcast(arrival.name);
  const std::string entry = world_.broadcast(arrival.entry);
  try {
    owner_.add(agreed(world_, [&] {
      std::vector<std::string> unused;
      return read_arrival(Deck::parse(entry, name), options_, unused);
    }));
    if (world_.is_root()) log_info(fmt::format("{:>8.1f} s  {} has arrived", owner_.now(), name));
  } catch (const Error& error) {
    if (error.scope() != Scope::all_ranks && !world_.is_null()) throw;
    scheduler_.fail_arrival(name, error);
    if (world_.is_root()) log_error(fmt::format("task {}, which has arrived, cannot start: {}", name, error.what()));
  }
}

/// On one process. Empty where the record cannot be written; the files stay for the next round.
std::vector<ShareArrival> ShareArrivals::find_and_claim() {
  std::vector<ShareArrival> found = folder_.find(options_, scheduler_.record());
  if (found.empty()) return found;
  const double now = owner_.now();
  ShareRecord with_them = scheduler_.record();
  for (const ShareArrival& arrival : found) {
    with_them.arrivals.push_back(arrival);
    with_them.progress[arrival.name].arrived_s = now;
  }
  // A copy is written first: until it is on disk, neither the share nor the folder has changed.
  if (error_of([&] { write_share_record(record_file(options_.run.output), with_them, now); })) return {};
  scheduler_.record().progress = std::move(with_them.progress);
  ArrivalFolder::claim(found);
  return found;
}

void ShareArrivals::take() {
  if (!options_.arrivals.folder) return;
  std::vector<ShareArrival> found;
  agreed_after_long_work(world_, [&] {
    if (world_.is_root()) found = find_and_claim();
  });
  found.resize(static_cast<std::size_t>(world_.broadcast_value(static_cast<std::int64_t>(found.size()))));
  for (const ShareArrival& arrival : found) {
    known().push_back(arrival);
    add(arrival);
  }
}

// Only rank 0 looks into the folder: on a network file system, ranks can see different states of it. The largest answer
// of all counts, so that a signal that reached one rank ends the waiting of all in the same call.
bool ShareArrivals::wait(StopMonitor& stop) {
  if (!options_.arrivals.folder || options_.arrivals.wait_s <= 0) return false;
  enum Found : int { nothing, time_is_over, something };
  const TimePoint since = SteadyClock::now();
  for (;;) {
    int found = nothing;
    if (world_.is_root() && seconds_since(since) >= options_.arrivals.wait_s) found = time_is_over;
    if (stop.stop_requested() || (world_.is_root() && !folder_.find(options_, scheduler_.record()).empty()))
      found = something;
    found = world_.allreduce(found, ReduceOp::max);
    if (found != nothing) return found == something;  // the next round handles a request to stop
    std::this_thread::sleep_for(kPollingInterval);
  }
}

}  // namespace multicard
