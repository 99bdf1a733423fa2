#pragma once
/// \file The parameters of a model in groups, which optimizers and gradient buckets are made from.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "state/NamedTensor.hpp"

namespace multicard {

/// Which parameters weight decay applies to.
enum class Decay {
  matrices,  ///< those of two dimensions or more: weights, not biases and not the scales of norms
  all
};

/// Parameters of one block of a model that have one type and decay alike.
struct ParameterGroup {
  std::string block;  ///< as block_of()
  at::ScalarType dtype;
  bool decays = true;
  std::vector<std::size_t> members;  ///< places in the list of parameters, ascending
};

/// The block of a model that a parameter belongs to: its name up to the first number, "model.layers.3" of
/// "model.layers.3.self_attn.q_proj.weight" and "features.0" of "features.0.0.weight"; without a number all but the
/// last part, "model.norm" of "model.norm.weight".
std::string_view block_of(std::string_view name);

/// The parameters of a model, group by group. Whether a parameter decays depends on its shape, which a flat view of
/// several has lost; so it is decided here, once.
///
/// Groups are in the order of their first member. What is made of them (gradients, buckets, moments) is in the order of
/// groups, which differs from that of the parameters within a block only.
class ParameterGroups {
 public:
  ParameterGroups(NamedTensors parameters, Decay decay);

  const std::vector<ParameterGroup>& groups() const { return groups_; }
  /// As they were given.
  const NamedTensors& parameters() const { return parameters_; }
  /// The parameters in the order of groups.
  std::vector<at::Tensor> tensors() const;
  /// Their names.
  std::vector<std::string> names() const;

 private:
  NamedTensors parameters_;
  std::vector<ParameterGroup> groups_;
};

}  // namespace multicard
