#pragma once
/// \file What a deck says of its optimizer and learning rate.

#include <cstdint>
#include <optional>

#include "config/DeckKey.hpp"
#include "config/Words.hpp"

namespace multicard {

/// optimizer.name
enum class OptimizerName { sgd, adamw, adamw8bit };
inline constexpr Word<OptimizerName> kOptimizerWords[] = {
    {"sgd", OptimizerName::sgd}, {"adamw", OptimizerName::adamw}, {"adamw8bit", OptimizerName::adamw8bit}};

struct OptimizerOptions {
  OptimizerName name = OptimizerName::sgd;
  double learning_rate = 0.05;      ///< peak; the schedule multiplies it
  double momentum = 0;              ///< sgd
  double weight_decay = 0;          ///< added to the gradient (sgd), decoupled (adamw, adamw8bit)
  double beta1 = 0.9;               ///< adamw, adamw8bit
  double beta2 = 0.999;             ///< adamw, adamw8bit
  double eps = 1e-8;                ///< adamw, adamw8bit
  bool nesterov = false;            ///< sgd
  double label_smoothing = 0;       ///< part of each target spread evenly over all classes
  bool decay_norms = true;          ///< false: no weight decay for normalisation layers and biases
  std::optional<double> clip_norm;  ///< largest L2 norm of the whole gradient; none: no clipping
};

/// schedule.name
enum class ScheduleName { constant, linear, cosine, step };
inline constexpr Word<ScheduleName> kScheduleWords[] = {{"constant", ScheduleName::constant},
                                                        {"linear", ScheduleName::linear},
                                                        {"cosine", ScheduleName::cosine},
                                                        {"step", ScheduleName::step}};

struct ScheduleOptions {
  ScheduleName name = ScheduleName::constant;
  std::int64_t warmup_steps = 0;            ///< linear from 0 at step 0
  std::optional<std::int64_t> total_steps;  ///< where linear and cosine end; none: the steps of the run
  double min_factor = 0;                    ///< the schedule never falls below this part of the learning rate
  std::int64_t step_size = 0;               ///< step: steps between two decays
  double gamma = 0.1;                       ///< step: factor of each decay

  /// Whether the curve depends on where it ends.
  bool has_end() const { return name == ScheduleName::linear || name == ScheduleName::cosine; }
};

/// Whether the loss has classes among which a target can be spread.
enum class HasClasses { no, yes };

/// \param optimizer the section optimizer
OptimizerOptions read_optimizer_options(Section& optimizer, HasClasses classes);
/// \param schedule the section schedule
ScheduleOptions read_schedule_options(Section& schedule);

/// The keys of optimizer and schedule.
DeckKeys optimizer_keys();

}  // namespace multicard
