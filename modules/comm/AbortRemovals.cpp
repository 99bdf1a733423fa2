#include "comm/AbortRemovals.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

namespace multicard {

namespace {

struct Removals {
  std::shared_timed_mutex creation;  // shared by those who make files, exclusive for the abort; taken before `paths`
  std::mutex mutex;
  std::map<int, std::string> paths;
  int next = 0;
};

Removals& removals() {
  static Removals instance;
  return instance;
}

/// Returns how many files and folders were removed.
std::uintmax_t remove_once(const std::map<int, std::string>& paths) {
  std::uintmax_t num_removed = 0;
  for (const auto& [ticket, path] : paths) {
    std::error_code failed;
    const std::uintmax_t count = std::filesystem::remove_all(path, failed);
    if (!failed) num_removed += count;
  }
  return num_removed;
}

}  // namespace

int on_abort_remove(const std::string& path) {
  Removals& all = removals();
  const std::lock_guard lock(all.mutex);
  all.paths[all.next] = path;
  return all.next++;
}

void cancel_on_abort(int ticket) {
  Removals& all = removals();
  const std::lock_guard lock(all.mutex);
  all.paths.erase(ticket);
}

std::vector<std::string> removed_on_abort() {
  Removals& all = removals();
  const std::lock_guard lock(all.mutex);
  std::vector<std::string> paths;
  for (const auto& [ticket, path] : all.paths)
    paths.push_back(path);
  return paths;
}

CreationGuard::CreationGuard() : lock_(removals().creation) {}

void remove_for_abort() {
  static std::atomic_flag begun;
  const bool is_first = !begun.test_and_set();
  Removals& all = removals();
  // Files are made in no time, but for those that all ranks make together: one of them may have been lost. A second
  // thread that aborts waits here for the first one's removal. Both locks are kept until the process ends.
  const bool is_alone = all.creation.try_lock_for(std::chrono::seconds(1));
  if (!is_first) return;
  all.mutex.lock();
  // Again while something is found: a maker that the guard did not stop may have been about to make its file.
  constexpr int kMostPasses = 24;
  const int least_passes = is_alone ? 1 : 8;
  for (int pass = 1; pass <= kMostPasses; ++pass) {
    if (remove_once(all.paths) == 0 && pass >= least_passes) return;
    if (!is_alone) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace multicard
