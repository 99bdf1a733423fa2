#pragma once
/// \file Ending a run whose evaluations no longer improve.

#include <cstdint>
#include <optional>
#include <string>

#include "base/NamedNumbers.hpp"
#include "tasks/options/EvaluateOptions.hpp"

namespace multicard {

/// Counts evaluations without improvement. A function of the scores it is told, so that ranks that are told the same
/// decide the same; its state goes through checkpoints.
class EarlyStopping {
 public:
  explicit EarlyStopping(const EvaluateOptions& options) : patience_(options.patience), min_delta_(options.min_delta) {}

  /// An evaluation after `step` updates whose `score` (Evaluation::score) is better the higher it is. The first counts
  /// as an improvement; one of a step that has been noted before does not count again.
  void note(std::int64_t step, double score);
  /// Whether as many evaluations in a row as the patience were no improvement.
  bool is_due() const { return patience_ > 0 && num_worse_ >= patience_; }
  /// "3 evaluations since step 200 were not better"
  std::string text() const;

  /// Small numbers by name; none where nothing is counted. Of a run that is resumed, which may have another patience.
  /// @{
  NamedNumbers state() const;
  void resume(const NamedNumbers& state);
  /// @}

 private:
  std::int64_t patience_;
  double min_delta_;
  std::optional<double> best_;
  std::int64_t best_step_ = 0, num_worse_ = 0, last_step_ = -1;
};

}  // namespace multicard
