#pragma once
/// \file Trainings that went wrong although every loss was a finite number.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/NamedNumbers.hpp"

namespace multicard {

/// "the training loss rose from 2.3 to 1e+29" when the median of the last losses (a tenth of them) is more than ten
/// times the first loss and more than 10, which no useful model has: a batch normalisation, for example, keeps the loss
/// finite at any learning rate. nullopt for all others, and for fewer than 5 losses.
std::optional<std::string> divergence(std::span<const double> train_losses);

/// Finds a training that diverges while it runs: three of its last five losses are above 10 and ten times the first, or
/// all of the last 50 above 1 and twice the largest of the first five, where language models settle that answer no
/// better than at random. Single spikes do not count, nor updates that fp16 scaling skips, warm-ups or objectives that
/// begin high (IPO at 25), since a loss counts in relation to the first. A function of the losses, which all ranks
/// know.
class DivergenceWatch {
 public:
  /// The loss of a step; one of a step that has been noted before does not count again.
  void note(std::int64_t step, double loss);
  /// Whether the losses up to the last are those of a diverged training.
  bool is_divergent() const;
  /// Whether the last loss is one that may be the beginning.
  bool is_suspicious() const { return (recent_ & 1U) != 0 || num_high_ > 0; }
  /// The first step at which it was divergent, also in the parts before; none: it never was.
  std::optional<std::int64_t> diverged_step() const { return diverged_step_; }
  /// "the training loss rose from 2.3 in the first step to 1e+29 in step 7"
  std::string text() const;

  /// Small numbers by name, for checkpoints.
  /// @{
  NamedNumbers state() const;
  void resume(const NamedNumbers& state);
  /// @}

 private:
  std::optional<double> first_;
  double last_ = 0;
  double early_max_ = 0;        ///< the largest of the first losses
  std::int64_t num_early_ = 0;  ///< how many they are so far
  std::int64_t num_high_ = 0;   ///< losses, the last ones, far above those
  std::uint32_t recent_ = 0;    ///< a bit for each of the last losses, the newest lowest: whether it was too large
  std::int64_t last_step_ = -1;
  std::optional<std::int64_t> diverged_step_;
};

}  // namespace multicard
