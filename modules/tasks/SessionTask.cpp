#include "tasks/SessionTask.hpp"

#include "base/Error.hpp"
#include "tasks/ImageTask.hpp"

namespace multicard {

std::unique_ptr<SessionTask> make_session_task(const RunOptions& options, const Communicator& communicator,
                                               at::Device device, StatisticsReducer* statistics) {
  if (options.is_language()) throw UsageError("task llm is not available in this version").on_all_ranks();
  return std::make_unique<ImageTask>(options, communicator, device, statistics);
}

}  // namespace multicard
