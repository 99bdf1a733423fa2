#include "train/OptimizerOptions.hpp"

#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "config/DeckLimits.hpp"

namespace multicard {

namespace {

constexpr double kAnyNumber = std::numeric_limits<double>::max();

DeckKeys update_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"optimizer.name",
       any,
       speed,
       "optimizer",
       "torch's SGD without dampening, torch's AdamW, or bitsandbytes' AdamW8bit, whose moments have 8 bits",
       {.on_resume = OnResume::same}},
      {"optimizer.learning_rate", any, learning, "learning rate", "the peak; the schedule multiplies it"},
      {"optimizer.momentum", any, learning, "momentum", "of `sgd`: share of the last update that is added to the next"},
      {"optimizer.nesterov", any, learning, "nesterov", "`sgd` with momentum"},
      {"optimizer.weight_decay", any, learning, "weight decay",
       "`sgd` adds it to the gradient, `adamw` and `adamw8bit` shrink the weights by learning rate × it"},
      {"optimizer.betas", any, learning, "betas", "of `adamw` and `adamw8bit`: two numbers, 0 ≤ x < 1"},
      {"optimizer.eps", any, learning, "eps", "of `adamw` and `adamw8bit`: added to the root of the second moment"},
      {"optimizer.label_smoothing", image, learning, "label smoothing",
       "part of each target that is spread evenly over all classes, in training"},
      {"optimizer.decay_norms", any, learning, "decay norms",
       "`false`: no weight decay for normalisation layers and biases"},
      {"optimizer.clip_norm",
       any,
       speed,
       "clip norm",
       "scale the whole gradient down to this L2 norm, as torch's `clip_grad_norm_`",
       {.on_resume = OnResume::same}},
  };
}

DeckKeys schedule_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"schedule.name", any, learning, "schedule", "the learning rate's curve; `cosine` is half a period"},
      {"schedule.warmup_steps", any, learning, "warmup steps", "steps of a linear rise from 0"},
      {"schedule.total_steps",
       any,
       learning,
       "total steps",
       "where `linear` and `cosine` end; they stay there",
       {.fallback = "steps of the run"}},
      {"schedule.min_factor", any, learning, "min factor",
       "`linear` and `cosine` end at this part of the learning rate, `step` does not fall below it"},
      {"schedule.step_size",
       any,
       learning,
       "step size",
       "steps between two decays, counted from the end of the warm-up",
       {.fallback = "required with `step`, not allowed otherwise"}},
      {"schedule.gamma", any, learning, "gamma", "factor of a decay", {.fallback = "`0.1`, with `step` only"}},
  };
}

void read_betas(Section& section, OptimizerOptions& optimizer) {
  const std::vector<double> betas = section.list<double>("betas", {optimizer.beta1, optimizer.beta2});
  if (betas.size() == 2 && betas[0] >= 0 && betas[0] < 1 && betas[1] >= 0 && betas[1] < 1) {
    optimizer.beta1 = betas[0];
    optimizer.beta2 = betas[1];
  } else {
    section.reject("betas", "expected two numbers from 0 to below 1");
  }
}

}  // namespace

OptimizerOptions read_optimizer_options(Section& section, HasClasses classes) {
  OptimizerOptions optimizer;
  optimizer.name = section.choice("name", optimizer.name, kOptimizerWords);
  optimizer.learning_rate = section.get_in_range("learning_rate", optimizer.learning_rate, kAboveZero, kAnyNumber);
  optimizer.momentum = section.get_in_range("momentum", optimizer.momentum, 0.0, kBelowOne);
  optimizer.weight_decay = section.get_in_range("weight_decay", optimizer.weight_decay, 0.0, kAnyNumber);
  optimizer.eps = section.get_in_range("eps", optimizer.eps, 0.0, kAnyNumber);
  optimizer.nesterov = section.get("nesterov", optimizer.nesterov);
  if (classes == HasClasses::yes)
    optimizer.label_smoothing = section.get_in_range("label_smoothing", optimizer.label_smoothing, 0.0, kBelowOne);
  optimizer.decay_norms = section.get("decay_norms", optimizer.decay_norms);
  optimizer.clip_norm = section.optional_in_range("clip_norm", kAboveZero, kAnyNumber);
  read_betas(section, optimizer);
  // A momentum that is silently ignored would be taken for one that was used, in comparisons of optimizers, say.
  if (optimizer.name != OptimizerName::sgd && (optimizer.momentum > 0 || optimizer.nesterov))
    section.reject(optimizer.nesterov ? "nesterov" : "momentum", "belongs to sgd",
                   fmt::format("optimizer.name is {}", word_of(optimizer.name, kOptimizerWords)),
                   fmt::format("{} has betas.", word_of(optimizer.name, kOptimizerWords)));
  else if (optimizer.nesterov && optimizer.momentum == 0)
    section.reject("nesterov", "needs a momentum", "optimizer.momentum is 0");
  return optimizer;
}

ScheduleOptions read_schedule_options(Section& section) {
  ScheduleOptions schedule;
  schedule.name = section.choice("name", schedule.name, kScheduleWords);
  schedule.warmup_steps = section.get_in_range<std::int64_t>("warmup_steps", schedule.warmup_steps, 0, most::kSteps);
  schedule.total_steps = section.optional_in_range<std::int64_t>("total_steps", 1, most::kSteps);
  schedule.min_factor = section.get_in_range("min_factor", schedule.min_factor, 0.0, 1.0);
  const auto step_size = section.optional_in_range<std::int64_t>("step_size", 1, most::kSteps);
  const auto gamma = section.optional_in_range("gamma", 0.0, 1.0);
  const bool decays_in_steps = schedule.name == ScheduleName::step;
  if (decays_in_steps && !step_size)
    section.reject("step_size", "is missing", "schedule.name is step", "Set the steps between two decays.");
  for (const char* key : {"step_size", "gamma"})
    if (!decays_in_steps && section.has(key))
      section.reject(key, "belongs to the step schedule",
                     fmt::format("schedule.name is {}", word_of(schedule.name, kScheduleWords)));
  schedule.step_size = step_size.value_or(0);
  schedule.gamma = gamma.value_or(schedule.gamma);
  return schedule;
}

DeckKeys optimizer_keys() {
  return concatenated({update_keys(), schedule_keys()});
}

}  // namespace multicard
