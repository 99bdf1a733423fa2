#include "evaluation/EvaluatedModel.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

RunSummary summary_of_evaluation(const EvaluationSubject& subject, const RunOptions& options, const Communicator& world,
                                 const DeviceChoice& device) {
  RunSummary summary;
  summary.name = "main";
  summary.text = {{"task", std::string(word_of(options.task, kTaskWords))},
                  {"precision", std::string(word_of(options.precision, kPrecisionWords))},
                  {"device", device.description},
                  {"weights", subject.weights.empty() ? options.model.path : subject.weights},
                  {"weights_origin", subject.origin},
                  {"deck", with_defaults(subject.deck).to_yaml()}};
  summary.integers = {{"ranks", world.size()}, {"global_batch", options.run.batch_over(world.size())}};
  return summary;
}

void check_test_loss(double loss, const std::string& subject) {
  if (std::isfinite(loss)) return;
  throw NumericalError(fmt::format("the test loss of {} is {}", subject, loss),
                       "the weights hold values that are not finite, or the network overflows",
                       "Evaluate another checkpoint, or with precision=fp32.")
      .on_all_ranks();
}

}  // namespace multicard
