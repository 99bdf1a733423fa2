#include "tasks/EarlyStopping.hpp"

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
  if (step <= last_step_) return;
  last_step_ = step;
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

std::map<std::string, double> EarlyStopping::state() const {
  if (patience_ == 0 || last_step_ < 0) return {};
  std::map<std::string, double> state{{kBestStep, static_cast<double>(best_step_)},
                                      {kWorse, static_cast<double>(num_worse_)},
                                      {kLastStep, static_cast<double>(last_step_)}};
  if (best_) state[kBest] = *best_;
  return state;
}

void EarlyStopping::resume(const std::map<std::string, double>& state) {
  const auto number = [&](const char* name, std::int64_t otherwise) {
    const auto found = state.find(name);
    return found == state.end() ? otherwise : static_cast<std::int64_t>(found->second);
  };
  if (const auto best = state.find(kBest); best != state.end()) best_ = best->second;
  best_step_ = number(kBestStep, best_step_);
  num_worse_ = number(kWorse, num_worse_);
  last_step_ = number(kLastStep, last_step_);
}

}  // namespace multicard
