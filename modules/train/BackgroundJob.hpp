#pragma once
/// \file Work that runs in the background of its owner.

#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "base/Error.hpp"

namespace multicard {

/// One job at a time in a thread of its own.
class BackgroundJob {
 public:
  /// \param timeout_s how long the end waits for a job under way
  explicit BackgroundJob(double timeout_s = 5);
  /// Waits for a job under way, but not for long: then it is left to itself, so that a disk that does not answer cannot
  /// keep a failed process alive. A job must therefore own all it uses.
  ~BackgroundJob();
  BackgroundJob(const BackgroundJob&) = delete;
  BackgroundJob& operator=(const BackgroundJob&) = delete;

  /// The job before must have been waited for.
  void start(std::function<void()> job);
  /// Whether a job is under way.
  bool running() const;
  /// Waits for the job and returns the error it ended with; nothing when there was none. An exception that is no Error
  /// becomes one with ExitCode::defect.
  std::optional<Error> wait();

 private:
  struct Progress;

  double timeout_s_;
  std::shared_ptr<Progress> progress_;
  std::thread thread_;
};

}  // namespace multicard
