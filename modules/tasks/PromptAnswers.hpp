#pragma once
/// \file What a model answers to the prompts of a deck, before its first step and after its last.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "results/Columns.hpp"
#include "tasks/Questions.hpp"

namespace multicard {

class GenerationEvaluation;

/// When the model is asked.
enum class AskedAt { start, end };

/// The answers of one run, as its record keeps them.
class PromptAnswers {
 public:
  /// \param generation_evaluation null: nothing is asked; it must outlive the answers
  /// \param scores_at_start whether questions are scored before the first step too
  PromptAnswers(const GenerationEvaluation* generation_evaluation, bool scores_at_start)
      : generation_evaluation_(generation_evaluation), scores_at_start_(scores_at_start) {}

  /// Whether there is something to ask, which takes its time.
  bool asks() const;
  bool asks(AskedAt when) const;
  /// Collective. Asks: keeps the answers to the prompts, returns the score of the questions if they are due. Adds the
  /// seconds of the questions to `seconds`.
  std::optional<QuestionScore> ask(AskedAt when, double& seconds);
  void log(AskedAt when) const;

  /// Takes up the answers of a run that is resumed. The deck may ask other prompts than before: each keeps its own.
  void resume(const std::map<std::string, Table>& tables);
  void add_to(RunSummary& summary) const;

 private:
  bool scores(AskedAt when) const;
  Table table() const;

  const GenerationEvaluation* generation_evaluation_;
  bool scores_at_start_;
  std::vector<std::string> before_, after_;  ///< to the prompts; empty before they are asked
};

}  // namespace multicard
