#include "results/Divergence.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include <fmt/format.h>

#include "base/Quantiles.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace {

constexpr double kFactor = 10, kUseless = 10;
constexpr std::int64_t kNumEarly = 5, kLongHigh = 50;
constexpr std::uint32_t kLastFive = 0b11111;

bool is_too_large(double loss, double first) {
  return loss > kUseless && loss > kFactor * first;
}

bool is_high(double loss, double early_max) {
  constexpr double kHighFactor = 2, kLeastHigh = 1;
  return loss > kLeastHigh && loss > kHighFactor * early_max;
}

// Names in trainer.json.
constexpr const char* kFirst = "divergence_first_loss";
constexpr const char* kEarlyMax = "divergence_early_loss";
constexpr const char* kNumEarlyLosses = "divergence_early_steps";
constexpr const char* kNumHigh = "divergence_high_steps";
constexpr const char* kRecent = "divergence_recent_steps";
constexpr const char* kLastStep = "divergence_last_step";
constexpr const char* kDiverged = "diverged_step";

}  // namespace

void DivergenceWatch::note(std::int64_t step, double loss) {
  // A resumed run repeats the steps since its checkpoint. A loss that is NaN compares as false everywhere here: another
  // check ends the run at once.
  if (step <= last_step_) return;
  last_step_ = step;
  last_ = loss;
  if (!first_) first_ = loss;
  if (num_early_ < kNumEarly) {
    early_max_ = std::max(early_max_, loss);
    ++num_early_;
  } else {
    num_high_ = is_high(loss, early_max_) ? num_high_ + 1 : 0;
  }
  // Counted over five losses and not in a row: a diverging loss often jumps back once or twice on its way.
  recent_ = ((recent_ << 1U) | (is_too_large(loss, *first_) ? 1U : 0U)) & kLastFive;
  if (is_divergent() && !diverged_step_) diverged_step_ = step;
}

bool DivergenceWatch::is_divergent() const {
  constexpr int kEnough = 3;
  return std::popcount(recent_) >= kEnough || num_high_ >= kLongHigh;
}

std::string DivergenceWatch::text() const {
  return fmt::format("the training loss rose from {} in the first step to {} in step {}",
                     significant(first_.value_or(0), 3), fmt::format("{:.3g}", last_), last_step_);
}

NamedNumbers DivergenceWatch::state() const {
  if (!first_) return {};
  NamedNumbers state{{kFirst, *first_},
                     {kEarlyMax, early_max_},
                     {kNumEarlyLosses, static_cast<double>(num_early_)},
                     {kNumHigh, static_cast<double>(num_high_)},
                     {kRecent, recent_},
                     {kLastStep, static_cast<double>(last_step_)}};
  if (diverged_step_) state[kDiverged] = static_cast<double>(*diverged_step_);
  return state;
}

void DivergenceWatch::resume(const NamedNumbers& state) {
  first_ = number_of(state, kFirst);
  early_max_ = number_of(state, kEarlyMax).value_or(0);
  num_early_ = whole_number_of(state, kNumEarlyLosses).value_or(0);
  num_high_ = whole_number_of(state, kNumHigh).value_or(0);
  recent_ = static_cast<std::uint32_t>(whole_number_of(state, kRecent).value_or(0)) & kLastFive;
  last_step_ = whole_number_of(state, kLastStep).value_or(-1);
  diverged_step_ = whole_number_of(state, kDiverged);
}

std::optional<std::string> divergence(std::span<const double> train_losses) {
  constexpr std::size_t kFewest = 5;
  if (train_losses.size() < kFewest) return std::nullopt;
  const std::span<const double> last = train_losses.last(std::max<std::size_t>(1, train_losses.size() / 10));
  const double first = train_losses.front(), end = median(std::vector<double>(last.begin(), last.end()));
  if (!is_too_large(end, first)) return std::nullopt;
  return fmt::format("the training loss rose from {} to {}", significant(first, 3), fmt::format("{:.3g}", end));
}

}  // namespace multicard
