#pragma once
/// \file The status file of a command, from before what it runs is built until its results are written.

#include <memory>
#include <optional>
#include <string>

#include "base/Error.hpp"
#include "comm/Communicator.hpp"
#include "device/DeviceError.hpp"
#include "watch/StatusWriter.hpp"

namespace multicard {

/// On rank 0; elsewhere it does nothing.
class CommandStatus {
 public:
  using Change = StatusWriter::Change;

  /// From now on there is a status. \param kind as WatchStatus has it
  void open(const Communicator& world, const std::string& kind, const StatusFiles& files);
  /// Null where there is none.
  std::shared_ptr<StatusWriter> writer() const { return writer_; }
  void change(Change change) const;
  /// How the command ends. The file says so when the last who uses the writer is gone.
  void end(WatchState state, const std::string& problem = {});
  /// An error ends it.
  void fail(const Error& error) { end(WatchState::failed, error.what()); }
  /// The state of a command that ends with this code.
  void end_with(ExitCode code);
  /// Runs `body`, whose exit code or error is the end.
  template <class Body>
  ExitCode end_of(const Body& body) {
    try {
      const ExitCode code = body();
      end_with(code);
      return code;
    } catch (const std::exception& error) {
      fail(any_error(error));
      throw;
    }
  }

 private:
  std::shared_ptr<StatusWriter> writer_;
};

}  // namespace multicard
