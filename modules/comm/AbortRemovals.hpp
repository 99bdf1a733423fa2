#pragma once
/// \file What a rank has half-written, and its removal when the job is aborted.
///
/// A path is registered before it is made, by on_abort_remove. A thread that makes a file holds a CreationGuard
/// meanwhile. The abort first excludes guards, then removes what is registered: a file is either there by then and
/// goes, or its maker waits for the guard, in which the process ends.

#include <shared_mutex>
#include <string>
#include <vector>

namespace multicard {

/// Registers a file or folder that an abort removes, after those that are registered already; returns a ticket for
/// cancel_on_abort.
int on_abort_remove(const std::string& path);
void cancel_on_abort(int ticket);
/// What an abort would remove, in that order.
std::vector<std::string> removed_on_abort();

/// Held while a file or folder is made. Once an abort removes files, the constructor never returns. A thread holds one
/// at a time.
class CreationGuard {
 public:
  CreationGuard();

 private:
  std::shared_lock<std::shared_timed_mutex> lock_;
};

/// The part of abort_job that is about files; only the end of the process may follow. Of several threads that come here
/// one removes, and the others wait for it for a second.
void remove_for_abort();

}  // namespace multicard
