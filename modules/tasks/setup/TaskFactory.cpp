#include "tasks/setup/TaskFactory.hpp"

#include "tasks/images/ImageTask.hpp"
#include "tasks/language/LanguageTask.hpp"

namespace multicard {

std::unique_ptr<Task> make_task(const RunOptions& options, const Communicator& communicator, const TaskParts& parts) {
  if (options.is_language())
    return std::make_unique<LanguageTask>(options, communicator, parts.device, parts.sharding,
                                          std::dynamic_pointer_cast<LanguageModel>(parts.model), parts.scan);
  return std::make_unique<ImageTask>(options, communicator, parts.device,
                                     ReplicaLinks{parts.statistics, parts.sharding},
                                     std::dynamic_pointer_cast<ImageClassifier>(parts.model), parts.scan);
}

}  // namespace multicard
