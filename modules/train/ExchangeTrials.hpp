#pragma once
/// \file Choosing bucket size and communication dtype of gradients by the time of a run's first steps.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/NamedNumbers.hpp"
#include "dist/ExchangeOptions.hpp"

namespace multicard {

/// What the choice depends on besides the options, equal on all ranks.
struct ExchangeFacts {
  int num_ranks = 1;
  std::int64_t gradient_bytes = 0;  ///< of a step, in the parameters' types
  std::int64_t bucket_bytes = 0;    ///< of a bucket with `auto` (TensorCollectives::bucket_bytes)
  std::int64_t num_steps = 0;       ///< that are left to do
};

/// parallel.bucket_mb and parallel.gradient_dtype `measured`. First the dtype, if it is asked for, then the bucket size
/// with the dtype found. In a stage its candidates take turns step by step, the default first, round after round: what
/// changes slowly (a clock rate, a neighbour's load) changes all of them. A candidate is judged by the median over the
/// rounds of its step's time divided by the default's step of the same round. The default stays unless the 95 %
/// interval of that median (base/Estimate.hpp) is below 1, for a dtype below 1 - kLeastGain, since it changes numbers;
/// of several the least median wins. The first round is left out: it fills caches and allocates.
///
/// A function of the times it is told: ranks that are told the same choose the same. The choice goes through
/// checkpoints.
class ExchangeTrials {
 public:
  static constexpr int kMostRounds = 9, kLeastRounds = 6;  ///< after the first; below 6 a median has no interval
  static constexpr double kLeastGain = 0.05;
  static constexpr std::int64_t kLargestBucket = 256'000'000;  ///< bytes; memory for it is predicted (RankMemory)

  /// \param options where both are fixed, nothing is tried
  ExchangeTrials(const ExchangeOptions& options, const ExchangeFacts& facts);

  bool is_under_way() const { return stage_ < stages_.size(); }
  /// Of the next step.
  const ExchangeSetting& setting() const { return setting_; }
  /// The time of a step that was made with setting(), equal on all ranks.
  void note(double seconds);
  /// What has been chosen and why, by key ("bucket_mb", "gradient_dtype"): "16: steps take 0.91 (0.88 to 0.94) of the
  /// time with auto, 9 rounds". Empty while trials are under way.
  const std::map<std::string, std::string>& reasons() const { return reasons_; }

  /// \name Of a run that is resumed
  /// Only what rests on times, and nothing while trials are under way: they then start again.
  /// @{
  NamedNumbers numbers() const;
  std::map<std::string, std::string> texts() const;
  void resume(const NamedNumbers& numbers, const std::map<std::string, std::string>& texts);
  /// @}

 private:
  struct Stage {
    const char* key;
    double least_gain;
    std::vector<ExchangeSetting> candidates;  ///< the default first
    std::vector<std::vector<double>> times;   ///< by candidate and round
    int num_rounds = 0;
  };

  void add_stage(const char* key, std::vector<ExchangeSetting> candidates, std::int64_t& steps_left);
  void start_stage();
  void end_stage(const Stage& stage);

  ExchangeOptions options_;
  ExchangeSetting setting_;
  std::vector<Stage> stages_;
  std::size_t stage_ = 0, candidate_ = 0;
  std::map<std::string, std::string> reasons_;
  std::set<std::string> measured_;  ///< keys whose choice rests on times
};

}  // namespace multicard
