#pragma once
/// \file How an application converges at each global batch, from its validation runs.

#include <map>
#include <string>
#include <vector>

namespace multicard {

/// Gradient noise: squared norm of the mean gradient, and variance of a sample's.
struct GradientNoise {
  double square = 0, variance = 0;

  /// How many updates at the first batch one update at `scale` times that batch is worth.
  double gain(double scale) const { return (variance + square) / (variance / scale + square); }
};

/// Progress, updates and gradient noise along runs that were validated after each epoch, at several global batches.
class Convergence {
 public:
  /// Reads FOLDER/validation-BATCH.csv of every batch. \throws DataError
  Convergence(const std::string& folder, int num_epochs);

  int num_epochs() const { return num_epochs_; }
  int smallest_batch() const { return runs_.begin()->first; }
  int largest_batch() const { return runs_.rbegin()->first; }

  /// Progress at which epoch `epoch` ends, counted from 1: the least of all batches; 0 for epoch 0.
  double progress_at(int epoch) const;
  /// Between the validated batches, linear. \pre smallest_batch() <= batch <= largest_batch()
  GradientNoise noise(int batch, int epoch) const;
  /// Updates that were made when epoch `epoch`, counted from 0, had ended; the same.
  double updates_after(int batch, int epoch) const;

 private:
  struct Row {
    double progress, updates;
    GradientNoise noise;
  };
  /// What a function of a row is at `batch`.
  template <class F>
  double between(int batch, int epoch, F value) const;

  int num_epochs_;
  std::map<int, std::vector<Row>> runs_;
  std::vector<double> progress_;
};

}  // namespace multicard
