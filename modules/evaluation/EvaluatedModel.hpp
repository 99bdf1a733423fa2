#pragma once
/// \file The scores of given weights on the test set of a deck.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "comm/Communicator.hpp"
#include "device/Device.hpp"
#include "evaluation/EvaluationSubject.hpp"
#include "results/Columns.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// What an evaluation has found.
struct EvaluationResult {
  using Score = std::variant<std::int64_t, double>;

  RunSummary summary;                                 ///< for the results file (docs/evaluate.md)
  std::vector<std::pair<std::string, Score>> scores;  ///< by name, in the order of output
  std::vector<std::string> lines;                     ///< a table and a summary, for people
};

/// Collective. Reads the weights and scores them on the test set, on the device that the deck names. \param options
/// evaluation_options() of the subject \param results the file that will hold all classes
/// \throws on all ranks NumericalError for a loss that is not finite, DataError for weights that do not fit
EvaluationResult evaluate_image_model(const EvaluationSubject& subject, const RunOptions& options,
                                      const std::string& results, const Communicator& world);

/// Collective. The same of a language model, with the questions of the deck. \throws also DataError for an adapter
/// whose base model is another one
EvaluationResult evaluate_language_model(const EvaluationSubject& subject, const RunOptions& options,
                                         const Communicator& world);

/// The part of a summary that both kinds of model have.
RunSummary summary_of_evaluation(const EvaluationSubject& subject, const RunOptions& options, const Communicator& world,
                                 const DeviceChoice& device);

/// \param subject what has been evaluated, in words \throws NumericalError for a loss that is not finite, which all
/// ranks know
void check_test_loss(double loss, const std::string& subject);

}  // namespace multicard
