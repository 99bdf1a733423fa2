#pragma once
/// \file The exponential moving average of a model's state.

#include "state/NamedTensor.hpp"

namespace multicard {

/// average <- decay * average + (1 - decay) * value after every update, of all floating-point tensors of a state
/// dictionary (running statistics too, so that the average is a whole model); others are copied. It starts as the
/// model is.
class ExponentialMovingAverage {
 public:
  /// `model` must outlive the average. \param decay from 0 to below 1
  ExponentialMovingAverage(NamedTensors model, double decay);

  /// Takes the model's present state in.
  void update();
  /// The average under the model's names, for checkpoints and to be written into.
  const NamedTensors& state() const { return average_; }

  /// While one exists, the model holds the average, and state() what the model held.
  class Applied {
   public:
    explicit Applied(ExponentialMovingAverage& average);
    ~Applied();
    Applied(const Applied&) = delete;
    Applied& operator=(const Applied&) = delete;

   private:
    ExponentialMovingAverage& average_;
  };

 private:
  void exchange_with_model();

  NamedTensors model_, average_;
  std::vector<at::Tensor> averaged_, values_;  ///< floating point
  std::vector<at::Tensor> copied_, originals_;
  double decay_;
};

}  // namespace multicard
