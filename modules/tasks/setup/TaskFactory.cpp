#include "tasks/setup/TaskFactory.hpp"

#include "tasks/images/ImageTask.hpp"
#include "tasks/language/LanguageTask.hpp"

namespace multicard {

std::unique_ptr<Task> make_task(const RunOptions& options, const Communicator& communicator, at::Device device,
                                StatisticsReducer* statistics, const std::shared_ptr<Model>& model,
                                const TaskScan& scan) {
  if (options.is_language())
    return std::make_unique<LanguageTask>(options, communicator, device,
                                          std::dynamic_pointer_cast<LanguageModel>(model), scan);
  return std::make_unique<ImageTask>(options, communicator, device, statistics,
                                     std::dynamic_pointer_cast<ImageClassifier>(model), scan);
}

}  // namespace multicard
