#include "CommandStatus.hpp"

#include <fmt/format.h>

#include "base/Log.hpp"
#include "comm/Agreement.hpp"
#include "watch/StatusSwitch.hpp"

namespace multicard {

void CommandStatus::open(const Communicator& world, const std::string& kind, const StatusFiles& files) {
  if (!world.is_root() || !is_status_wanted()) return;
  WatchStatus status = status_of_process(kind);
  status.is_ended_by_command = true;
  // The other ranks know nothing of it: what goes wrong here must not end the job.
  if (const auto error = error_of([&] { writer_ = std::make_shared<StatusWriter>(status, files); }))
    log_warning(fmt::format("status.json is not written: {}", error->what()));
}

void CommandStatus::change(Change change) const {
  if (writer_) writer_->change(std::move(change));
}

void CommandStatus::end(WatchState state, const std::string& problem) {
  change([state, problem](WatchStatus& status) {
    status.state = name_of(state);
    if (!problem.empty()) status.problem = problem;
  });
  writer_ = nullptr;
}

void CommandStatus::end_with(ExitCode code) {
  end(code == ExitCode::complete  ? WatchState::finished
      : code == ExitCode::stopped ? WatchState::interrupted
                                  : WatchState::failed);
}

}  // namespace multicard
