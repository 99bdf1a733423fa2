#pragma once
/// \file Weights of 8da4w layers: int4 weights and int8 activations, faked while they are trained and packed then.

#include <span>
#include <string>
#include <vector>

#include "kernels/Int4.hpp"
#include "nn/language/LlamaConfig.hpp"
#include "nn/layers/BaseWeight.hpp"

namespace multicard {

/// A layer that is to be quantised.
struct GroupedLayer {
  std::string name;
  std::int64_t in = 0;
};

/// \throws UsageError, which names the sizes that all layers can have, for a group size that is odd or does not divide
/// the input of one of them
void check_group_size(std::int64_t group_size, std::span<const GroupedLayer> layers);

/// Of a network in a format that has groups.
void check_group_size(const LlamaConfig& config, WeightFormat format);

/// W is a tensor, multiplied as int4 stands for it, with x as int8 does; both gradients are those of
/// kernels/FakeQuant.hpp. With fake quantisation off it is a DenseWeight.
class FakeInt4Weight final : public BaseWeight {
 public:
  FakeInt4Weight(at::Tensor weight, std::int64_t group_size) : weight_(std::move(weight)), group_size_(group_size) {}
  at::Tensor matmul(const at::Tensor& x) const override;
  at::Tensor transposed_matmul(const at::Tensor& dy) const override;
  bool needs_input() const override { return is_on(); }
  at::Tensor input_gradient(const at::Tensor& dy, const at::Tensor& x) const override;
  at::Tensor weight_gradient(const at::Tensor& dy, const at::Tensor& x) const override;
  void set_fake_quantisation(FakeQuantisation state) override { state_ = state; }

 private:
  bool is_on() const { return state_ == FakeQuantisation::on; }
  /// W as it is multiplied.
  at::Tensor values(at::ScalarType dtype) const;

  at::Tensor weight_;
  std::int64_t group_size_;
  FakeQuantisation state_ = FakeQuantisation::on;
};

/// W is in int4; x is multiplied as int8 stands for it. It is not trained, nor is what comes before it: gradients are
/// those of x as it was rounded.
class Int4Weight final : public PackedWeight {
 public:
  /// Not filled.
  Int4Weight(std::int64_t in, const std::vector<std::int64_t>& outs, std::int64_t group_size, at::Device device);
  at::Tensor matmul(const at::Tensor& x) const override;
  void fill(std::size_t layer, const at::Tensor& weight) override;
  void take(std::size_t layer, const StoredWeight& stored) override;
  void share(std::size_t layer, const ShareTensors& share) override;
  std::int64_t bytes() const override;
  std::vector<at::Tensor> matrices() const override;
  const std::vector<Int4Matrix>& layers() const { return layers_; }

 protected:
  void dequantise(std::span<const LayerRows> rows) const override;

 private:
  std::vector<Int4Matrix> layers_;
};

}  // namespace multicard
