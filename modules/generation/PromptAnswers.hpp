#pragma once
/// \file What a model answers to the prompts of a deck, before its first step and after its last.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generation/Questions.hpp"
#include "results/Columns.hpp"

namespace multicard {

class GenerationEvaluation;

/// When a run has its model generate answers.
enum class GenerationPhase { start, end };

/// The answers of one run, as its record keeps them.
class PromptAnswers {
 public:
  /// \param generation_evaluation null: nothing is generated; it must outlive the answers
  /// \param scores_at_start whether questions are scored before the first step too
  PromptAnswers(const GenerationEvaluation* generation_evaluation, bool scores_at_start)
      : generation_evaluation_(generation_evaluation), scores_at_start_(scores_at_start) {}

  /// Whether answers are generated at all, which takes its time.
  bool is_enabled() const;
  bool is_due(GenerationPhase phase) const;
  /// Collective. Keeps the answers to the prompts, returns the score of the questions if they are due. Adds the
  /// seconds of the questions to `seconds`.
  std::optional<QuestionScore> evaluate(GenerationPhase phase, double& seconds);
  void log(GenerationPhase phase) const;

  /// Takes up the answers of a run that is resumed. The deck may have other prompts than before: each keeps its own.
  void resume(const std::map<std::string, Table>& tables);
  void add_to(RunSummary& summary) const;

 private:
  bool scores(GenerationPhase phase) const;
  Table table() const;

  const GenerationEvaluation* generation_evaluation_;
  bool scores_at_start_;
  std::vector<std::string> before_, after_;  ///< to the prompts; empty before they are generated
};

}  // namespace multicard
