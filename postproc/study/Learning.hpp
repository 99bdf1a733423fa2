#pragma once
/// \file Settings that change what a model learns but not the work: speed does not choose between them, the test does.

#include <optional>
#include <string>
#include <vector>

#include "findings/Finding.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

/// The metric of how well a model has learnt.
struct LearningScore {
  const char* name;        ///< "test loss"
  const char* best;        ///< "lowest test loss"
  Estimate Cell::*member;  ///< where a cell has it
  bool higher_is_better;
};

/// Test accuracy where any cell has it, else test loss, else nothing.
std::optional<LearningScore> learning_score(const Study& study);

/// Options of a configuration that may change its speed, e.g. "ddp-ds, fp16" without the learning rate; may be empty.
std::string speed_label(const Study& study, std::size_t configuration);

/// Whether two configurations differ at most in settings that only change what is learnt.
bool same_speed(const Study& study, std::size_t a, std::size_t b);

/// The same of all `configurations`, if there are several: their rates do not decide then.
bool differ_in_learning_alone(const Study& study, const std::vector<std::size_t>& configurations);

/// The complete cell with the best score; null where none has any.
const Cell* best_learner(const Study& study, const std::vector<std::size_t>& configurations);

/// "the lowest test loss is that of learning rate 0.005 on 2 ranks: 2.134", or that none was measured.
std::string learning_clause(const Study& study, const std::vector<std::size_t>& configurations);

/// What that clause states: score, ranks.
Evidence learning_evidence(const Study& study, const std::vector<std::size_t>& configurations);

/// "learning.KEY" for each setting that only changes what is learnt: which value has the best score, and for how many
/// kinds of work; empty ones where no two values were compared.
Findings learning_advice(const Study& study);

/// Settings that only change what is learnt: "learning rate and weight decay".
std::string learning_settings(const Study& study);

}  // namespace multicard::post
