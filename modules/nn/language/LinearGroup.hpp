#pragma once
/// \file Linear layers that read the same input, computed as one, with adapters.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "nn/language/Lora.hpp"
#include "nn/layers/BaseWeight.hpp"
#include "state/NamedTensor.hpp"
#include "state/WeightSink.hpp"

namespace multicard {

/// What a pass through the network needs in addition to its input.
struct LinearPass {
  at::ScalarType dtype = at::kFloat;  ///< of the products
  bool uses_adapters = true;
  double dropout = 0;  ///< probability; 0 where it does not apply
  std::uint64_t dropout_seed = 0;
  bool needs_output = true;  ///< false: backward alone is to follow, and what forward() returns has no values
};

/// Layers side by side: y = x W^T + bias, with W [out_1 + out_2 + ..., in], and the low-rank updates of those that are
/// adapted. Weights that are not packed are views of one tensor, A matrices too. Packed ones are frozen, and so are
/// those of whole layers in the same group.
class LinearGroup {
 public:
  struct Layer {
    std::string name;  ///< model.layers.0.self_attn.q_proj
    std::int64_t out = 0;
    bool has_bias = false;
    bool is_whole = false;  ///< its weight is not packed, whatever the format
  };
  LinearGroup(std::int64_t in, std::vector<Layer> layers, const at::TensorOptions& options, WeightFormat format = {});

  /// NAME.weight [out, in], where it is not packed, and NAME.bias [out] of each layer: leaves.
  const NamedTensors& weights() const { return weights_; }
  /// NAME.weight of each layer whose weight is packed, or is in a group with one that is. Used as long as the group.
  WeightSinks sinks();
  /// Bytes of those.
  std::int64_t quantised_bytes() const;
  /// The memory of the weights, or of what stands for them, but for small tensors.
  std::vector<at::Tensor> matrices() const;
  /// What products are made with: the same, or a copy.
  std::vector<at::Tensor> multiplied() const { return copy_.defined() ? std::vector<at::Tensor>{copy_} : matrices(); }
  /// Products are made with a copy in another type from here on, which others fill; weights are read for nothing else.
  /// \pre weights are dense
  void multiply_copy(at::ScalarType type);
  /// base_model.model.NAME.lora_A.weight [rank, in] and lora_B.weight [out, rank] of each adapted layer: leaves.
  const NamedTensors& adapters() const { return adapters_; }
  const std::vector<Layer>& layers() const { return layers_; }

  /// Freezes the weights and adapts the layers whose names are in `names`, with A and B as yet zero. \throws as
  /// AdapterPatterns::apply()
  void add_adapters(const AdapterOptions& options, const std::vector<std::string>& names);
  /// Adds s B A to the weights, which are not packed, and forgets the adapters.
  void merge_adapters();

  /// Of weights that have it: see BaseWeight.
  void set_fake_quantisation(FakeQuantisation state) { base_->set_fake_quantisation(state); }

  /// [tokens, out_1 + out_2 + ...] of x [tokens, in] of type pass.dtype. The group must outlive backward.
  at::Tensor forward(const at::Tensor& x, const LinearPass& pass) const;

 private:
  friend class GroupFunction;
  struct Adapter {
    std::int64_t first = 0, out = 0;  ///< columns of y
    std::int64_t first_rank = 0;      ///< row of `a_`
    double scaling = 1;
    at::Tensor b;  ///< [out, rank]
  };
  /// The columns of x A^T of one of the adapters.
  static at::Tensor columns(const at::Tensor& hidden, const Adapter& adapter) {
    return hidden.narrow(1, adapter.first_rank, adapter.b.size(1));
  }
  /// Multiplies the columns of all adapters by their scalings.
  void scale(at::Tensor& hidden) const;
  bool is_adapted() const { return !adapted_.empty(); }
  bool trains_weights() const { return !is_adapted() && !trained_.empty(); }
  /// \param base of the weights' tensor
  template <typename MakeBase>
  void make_tensor(const MakeBase& base);
  /// \param format nf4 or int4; where it is int4 no layer is whole
  void make_packed(WeightFormat format);
  void add_leaves();

  std::int64_t in_, out_ = 0;  ///< of all layers
  std::vector<Layer> layers_;
  at::TensorOptions options_;             ///< of what is not quantised
  std::shared_ptr<BaseWeight> base_;      ///< of all layers
  at::Tensor weight_;                     ///< of `base_`, where it has one
  at::Tensor copy_;                       ///< of that, for `base_`; undefined: there is none
  std::shared_ptr<PackedWeight> packed_;  ///< `base_`, where it is one
  at::Tensor bias_;                       ///< of all layers; undefined where none has one
  at::Tensor a_;                          ///< of all adapted layers, [rank_1 + rank_2 + ..., in]
  std::vector<Adapter> adapted_;
  NamedTensors weights_, adapters_;
  std::vector<at::Tensor> trained_;  ///< leaves that autograd sees, in the order of backward's results
};

}  // namespace multicard
