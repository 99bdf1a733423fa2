#include "train/ExchangeTrials.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/Estimate.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace {

constexpr const char* kBucketKey = "bucket_mb";
constexpr const char* kDtypeKey = "gradient_dtype";

// Names in trainer.json.
constexpr const char* kBucket = "measured_bucket_mb";        ///< 0: the fixed rule
constexpr const char* kIs16Bit = "measured_gradient_16bit";  ///< 1: bf16
constexpr const char* kReasonOf = "measured_";               ///< and the key

std::string name_of(const char* key, const ExchangeSetting& setting) {
  if (key == kDtypeKey) return std::string(word_of(setting.gradient_dtype, kCommDtypeWords));
  return setting.bucket_mb ? fmt::format("{}", *setting.bucket_mb) : "auto";
}

/// Sizes that cut the gradients differently from the fixed rule and from each other: powers of four, and one bucket for
/// everything where that is not too large.
std::vector<double> bucket_sizes(const ExchangeFacts& facts) {
  constexpr double kMega = 1e6;
  constexpr double kSizes[] = {0.25, 1, 4, 16, 64, 256};
  const double all = std::ceil(static_cast<double>(facts.gradient_bytes) / kMega);
  const double fixed = static_cast<double>(facts.bucket_bytes) / kMega;
  std::vector<double> sizes;
  for (const double size : kSizes)
    if (size * kMega < static_cast<double>(facts.gradient_bytes) && std::abs(std::log2(size / fixed)) > 1)
      sizes.push_back(size);
  if (all * kMega <= static_cast<double>(ExchangeTrials::kLargestBucket) && all > fixed) sizes.push_back(all);
  return sizes;
}

/// Times of a candidate divided by the default's of the same rounds.
Estimate relative_time(const std::vector<double>& times, const std::vector<double>& of_default) {
  std::vector<double> ratios;
  for (std::size_t round = 1; round < times.size(); ++round)
    ratios.push_back(times[round] / of_default[round]);
  return estimate_of_steps(std::move(ratios));
}

std::string text_of(const Estimate& estimate) {
  const Interval interval = estimate.interval.value_or(Interval{estimate.value, estimate.value});
  return fmt::format("{} ({} to {})", significant(estimate.value, 3), significant(interval.low, 3),
                     significant(interval.high, 3));
}

}  // namespace

ExchangeTrials::ExchangeTrials(const ExchangeOptions& options, const ExchangeFacts& facts)
    : options_(options), setting_(options) {
  std::int64_t steps_left = facts.num_steps / 2;
  const auto nothing_to_try = [&](const char* key, const char* why) {
    reasons_[key] = fmt::format("{}: {}", name_of(key, setting_), why);
  };
  const auto add = [&](bool is_wanted, const char* key, std::vector<ExchangeSetting> candidates) {
    if (!is_wanted) return;
    if (facts.num_ranks == 1) return nothing_to_try(key, "one rank exchanges nothing");
    if (candidates.size() == 1) return nothing_to_try(key, "all gradients are one bucket");
    add_stage(key, std::move(candidates), steps_left);
  };
  ExchangeSetting in_16_bits = setting_;
  in_16_bits.gradient_dtype = CommDtype::bf16;
  add(options.measures_dtype, kDtypeKey, {setting_, in_16_bits});
  std::vector<ExchangeSetting> cuts{setting_};
  for (const double size : bucket_sizes(facts)) {
    cuts.push_back(setting_);
    cuts.back().bucket_mb = size;
  }
  add(options.measures_bucket, kBucketKey, cuts);
  start_stage();
}

/// Trials take at most half of the steps that are left.
void ExchangeTrials::add_stage(const char* key, std::vector<ExchangeSetting> candidates, std::int64_t& steps_left) {
  const auto num_candidates = static_cast<std::int64_t>(candidates.size());
  const std::int64_t num_rounds = std::min<std::int64_t>(kMostRounds, steps_left / num_candidates - 1);
  if (num_rounds < kLeastRounds) {
    reasons_[key] = fmt::format("{}: {} settings need {} steps to compare, and half of the run is less",
                                name_of(key, candidates.front()), num_candidates, (kLeastRounds + 1) * num_candidates);
    return;
  }
  steps_left -= (num_rounds + 1) * num_candidates;
  stages_.push_back(
      {key, key == kDtypeKey ? kLeastGain : 0.0, std::move(candidates), {}, static_cast<int>(num_rounds)});
}

void ExchangeTrials::start_stage() {
  if (!is_under_way()) return;
  Stage& stage = stages_[stage_];
  stage.times.assign(stage.candidates.size(), {});
  // The stage before has chosen what this one does not vary.
  for (ExchangeSetting& candidate : stage.candidates)
    if (stage.key == kBucketKey) candidate.gradient_dtype = setting_.gradient_dtype;
  candidate_ = 0;
  setting_ = stage.candidates.front();
}

void ExchangeTrials::note(double seconds) {
  Stage& stage = stages_.at(stage_);
  stage.times[candidate_].push_back(seconds);
  candidate_ = (candidate_ + 1) % stage.candidates.size();
  setting_ = stage.candidates[candidate_];
  if (static_cast<int>(stage.times.back().size()) <= stage.num_rounds) return;
  end_stage(stage);
  ++stage_;
  start_stage();
}

void ExchangeTrials::end_stage(const Stage& stage) {
  measured_.insert(stage.key);
  std::size_t chosen = 0, nearest = 0;
  std::vector<Estimate> relative{{1.0, Interval{1, 1}, Basis::steps, stage.num_rounds}};
  for (std::size_t i = 1; i < stage.candidates.size(); ++i) {
    relative.push_back(relative_time(stage.times[i], stage.times.front()));
    const Estimate& found = relative.back();
    if (nearest == 0 || found.value < relative[nearest].value) nearest = i;
    const bool is_better = found.interval && found.interval->high < 1 - stage.least_gain;
    if (is_better && found.value < relative[chosen].value) chosen = i;
  }
  setting_ = stage.candidates[chosen];
  const std::string name = name_of(stage.key, setting_), of_default = name_of(stage.key, stage.candidates.front());
  if (chosen > 0)
    reasons_[stage.key] = fmt::format("{}: steps take {} of the time with {}, {} rounds", name,
                                      text_of(relative[chosen]), of_default, stage.num_rounds);
  else
    reasons_[stage.key] =
        fmt::format("{}: no other setting is clearly faster; with {} steps take {} of the time, {} rounds", name,
                    name_of(stage.key, stage.candidates[nearest]), text_of(relative[nearest]), stage.num_rounds);
}

NamedNumbers ExchangeTrials::numbers() const {
  NamedNumbers numbers;
  if (is_under_way()) return numbers;
  if (measured_.contains(kBucketKey)) numbers[kBucket] = setting_.bucket_mb.value_or(0);
  if (measured_.contains(kDtypeKey)) numbers[kIs16Bit] = setting_.gradient_dtype == CommDtype::bf16 ? 1 : 0;
  return numbers;
}

std::map<std::string, std::string> ExchangeTrials::texts() const {
  std::map<std::string, std::string> texts;
  if (is_under_way()) return texts;
  for (const std::string& key : measured_)
    texts[kReasonOf + key] = reasons_.at(key);
  return texts;
}

void ExchangeTrials::resume(const NamedNumbers& numbers, const std::map<std::string, std::string>& texts) {
  const auto reuse = [&](bool is_wanted, const char* key, const char* name) -> std::optional<double> {
    const std::optional<double> number = number_of(numbers, name);
    if (!is_wanted || !number) return std::nullopt;
    std::erase_if(stages_, [&](const Stage& stage) { return std::string(stage.key) == key; });
    const auto reason = texts.find(kReasonOf + std::string(key));
    reasons_[key] = reason != texts.end() ? reason->second : "as before";
    measured_.insert(key);
    return number;
  };
  setting_ = options_;
  if (const auto bucket = reuse(options_.measures_bucket, kBucketKey, kBucket); bucket && *bucket > 0)
    setting_.bucket_mb = *bucket;
  if (const auto is_16_bit = reuse(options_.measures_dtype, kDtypeKey, kIs16Bit); is_16_bit && *is_16_bit > 0)
    setting_.gradient_dtype = CommDtype::bf16;
  for (Stage& stage : stages_)
    for (ExchangeSetting& candidate : stage.candidates)
      if (stage.key == kDtypeKey) candidate.bucket_mb = setting_.bucket_mb;
  start_stage();
}

}  // namespace multicard
