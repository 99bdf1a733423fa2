#include "run/EarlyStopping.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard {

namespace {

// Names in trainer.json.
constexpr const char* kBest = "early_stopping_best";
constexpr const char* kBestStep = "early_stopping_best_step";
constexpr const char* kWorse = "early_stopping_evaluations_since_best";
constexpr const char* kLastStep = "early_stopping_last_step";

}  // namespace

void EarlyStopping::note(std::int64_t step, double score) {
  // A resumed run may evaluate the step of its checkpoint again, which must not use up patience.
  if (step <= last_step_) return;
  last_step_ = step;
  // A first score of NaN would stay the best, as all comparisons with it are false, and so would an infinite one.
  if (std::isfinite(score) && (!best_ || score > *best_ + min_delta_)) {
    best_ = score;
    best_step_ = step;
    num_worse_ = 0;
  } else {
    ++num_worse_;
  }
}

std::string EarlyStopping::text() const {
  return fmt::format("{} since step {} {} not better", counted(num_worse_, "evaluation"), best_step_,
                     num_worse_ == 1 ? "was" : "were");
}

NamedNumbers EarlyStopping::state() const {
  if (patience_ == 0 || last_step_ < 0) return {};
  NamedNumbers state{{kBestStep, static_cast<double>(best_step_)},
                     {kWorse, static_cast<double>(num_worse_)},
                     {kLastStep, static_cast<double>(last_step_)}};
  if (best_) state[kBest] = *best_;
  return state;
}

void EarlyStopping::resume(const NamedNumbers& state) {
  if (const auto best = number_of(state, kBest)) best_ = best;
  best_step_ = whole_number_of(state, kBestStep).value_or(best_step_);
  num_worse_ = whole_number_of(state, kWorse).value_or(num_worse_);
  last_step_ = whole_number_of(state, kLastStep).value_or(last_step_);
}

}  // namespace multicard
