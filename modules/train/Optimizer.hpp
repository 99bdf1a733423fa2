#pragma once
/// \file Updating parameters.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "state/NamedTensor.hpp"
#include "state/ParameterGroup.hpp"
#include "train/OptimizerOptions.hpp"

namespace multicard {

/// What an optimizer updates: a parameter, or a piece of one whose elements follow each other in memory.
struct UpdatedTensor {
  std::string name;  ///< of the parameter
  at::Tensor values, gradient;
  bool decays = true;
  std::int64_t num_elements = 0;  ///< of the whole parameter
};

/// All parameters, in their order. \param gradients in the same
std::vector<UpdatedTensor> updated_tensors(const ParameterGroups& parameters, const std::vector<at::Tensor>& gradients);

/// A way of updating parameters.
///
/// Parameters and gradients are fixed tensors that live at least as long as the optimizer: float32, float64 or
/// bfloat16, on one device, each gradient with the shape and strides of its parameter (views of flat buckets are fine).
/// What is bfloat16 is computed in float32 and rounded to nearest once an update.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One update with learning rate `learning_rate`; the gradients stay as they are. Nothing changes when `found_inf` (a
  /// one-element float32 tensor on the device, undefined: 0) is not 0.
  virtual void step(double learning_rate, const at::Tensor& found_inf = {}) = 0;

  const std::vector<at::Tensor>& gradients() const { return gradients_; }
  /// The L2 norm of each gradient, as a float64 tensor on the device. Does not wait for it.
  at::Tensor gradient_norms() const;
  /// Scales all gradients by min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_. Does not wait for the
  /// device. \param norm of all gradients, a 0-dim float64 tensor on the device
  void clip(const at::Tensor& norm, double max_norm);

  /// The moments themselves, for checkpoints and to be written into; each class says what it has.
  virtual NamedTensors state() const = 0;

 protected:
  /// Parameters of one type that decay alike: one fused call updates them.
  struct Group {
    double weight_decay = 0;
    std::vector<std::size_t> members;  ///< places in the list of parameters
    std::vector<at::Tensor> parameters, gradients;
  };

  /// \throws std::logic_error when parameters and gradients do not match.
  Optimizer(const OptimizerOptions& options, const std::vector<UpdatedTensor>& updated);

  const std::vector<Group>& groups() const { return groups_; }
  const std::vector<std::string>& names() const { return names_; }
  /// Zeros with the shapes, strides and types of the parameters.
  std::vector<at::Tensor> zeros_like_parameters() const;
  at::TensorOptions tensor_options() const { return parameters_.front().options(); }
  /// Those of `all`, one for each parameter, that belong to the group.
  static std::vector<at::Tensor> of_group(const Group& group, const std::vector<at::Tensor>& all);

 private:
  Group& group_for(at::ScalarType dtype, double weight_decay);

  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_, gradients_;
  std::vector<Group> groups_;
};

/// Bytes of the state() that the optimizer of `options` has for these parameters.
std::int64_t optimizer_bytes(const OptimizerOptions& options, const NamedTensors& parameters);

/// The norm of a whole from the norms of its parts, whatever the parts are: gradients, groups, shards.
/// \param norms float64, one dimension \return float64, 0-dim
at::Tensor total_norm(const at::Tensor& norms);

/// Which parameters decay by the deck.
Decay decay_of(const OptimizerOptions& options);

/// The optimizer that `options` name. \throws std::logic_error as Optimizer
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const std::vector<UpdatedTensor>& updated);

}  // namespace multicard
