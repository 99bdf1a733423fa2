#pragma once
/// \file Noticing that steps no longer take the time that a model predicts.

#include <cstddef>
#include <vector>

namespace multicard {

enum class Drift {
  none,
  sudden,     ///< the ratio of observed to predicted times has moved away from what it was
  persistent  ///< the mean of that ratio has been wrong by too much over the whole window
};

struct DriftOptions {
  double threshold = 5;       ///< standard deviations of a step that the cumulative sum may reach
  double slack = 1;           ///< standard deviations that each step may differ without adding to it
  std::size_t learning = 30;  ///< steps after a reset that only tell the mean and the deviation
  double bias = 0.10;         ///< share by which the mean of a window may differ from the prediction
  std::size_t window = 50;    ///< steps
};

/// A two-sided cumulative sum (Page, 1954) of the logarithm of observed / predicted, and its mean over a window. The
/// cumulative sum compares with earlier steps since the last reset, so that a model's constant error does not count;
/// the window compares with the model. Single outliers do not count for more than 3 standard deviations.
class DriftDetector {
 public:
  explicit DriftDetector(const DriftOptions& options = {}) : options_(options) {}

  /// Adds a step. What it finds stays until `reset`. Steps without a positive time are ignored.
  Drift add(double observed_s, double predicted_s);
  Drift found() const { return found_; }

  /// Starts over, as after a new fit, or when the task has got other GPUs.
  void reset();

 private:
  void begin();
  void learn(double ratio);
  double deviation() const;
  bool is_sudden(double ratio);
  bool is_persistent() const;

  DriftOptions options_;
  Drift found_ = Drift::none;
  std::size_t num_steps_ = 0;
  double learned_ = 0, mean_ = 0, squares_ = 0;  ///< of the steps since the reset but the last window (Welford)
  double above_ = 0, below_ = 0;                 ///< the cumulative sums
  std::vector<double> window_;                   ///< ring of the last steps
  std::size_t next_ = 0;
};

}  // namespace multicard
