#pragma once
/// \file A share as its status file has it.

#include <memory>
#include <string>

#include "base/Clock.hpp"
#include "share/ShareScheduler.hpp"
#include "watch/StatusWriter.hpp"

namespace multicard {

/// What rank 0 knows of the tasks. \param left_s seconds until the next decision
WatchedShare watched_share(const ShareScheduler& scheduler, const ShareOptions& options, double now, double left_s);

/// On rank 0: reports the share to a StatusWriter, once a second at most.
class ShareStatus {
 public:
  /// \param options must outlive it
  explicit ShareStatus(const ShareOptions& options) : options_(options) {}

  /// \param writer null: there is none
  void show(const std::shared_ptr<StatusWriter>& writer, const ShareScheduler& scheduler, double now, double left_s);

 private:
  const ShareOptions& options_;
  TimePoint shown_{};
};

}  // namespace multicard
