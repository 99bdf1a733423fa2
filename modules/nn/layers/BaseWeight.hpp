#pragma once
/// \file What linear layers multiply with: weights as they are stored.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/Nf4.hpp"
#include "kernels/WeightFormat.hpp"
#include "state/WeightSink.hpp"

namespace multicard {

/// The weight W [out, in] of a group of linear layers. Products have the type of their operand, in which W is
/// multiplied.
class BaseWeight {
 public:
  virtual ~BaseWeight() = default;
  /// x W^T, [tokens, out], of x [tokens, in].
  virtual at::Tensor matmul(const at::Tensor& x) const = 0;
  /// dy W, [tokens, in], of dy [tokens, out].
  virtual at::Tensor transposed_matmul(const at::Tensor& dy) const = 0;

  /// Whether input_gradient() reads x.
  virtual bool needs_input() const { return false; }
  /// The gradient of x from that of matmul(x); both have one type.
  virtual at::Tensor input_gradient(const at::Tensor& dy, const at::Tensor&) const { return transposed_matmul(dy); }
  /// The gradient of W, where it is trained, from that of matmul(x).
  virtual at::Tensor weight_gradient(const at::Tensor& dy, const at::Tensor& x) const;
  /// For weights that have it; it starts on. The backward pass of a product must find it as the forward pass did.
  virtual void set_fake_quantisation(FakeQuantisation) {}
};

/// W is a tensor.
class DenseWeight final : public BaseWeight {
 public:
  explicit DenseWeight(at::Tensor weight) : weight_(std::move(weight)) {}
  at::Tensor matmul(const at::Tensor& x) const override;
  at::Tensor transposed_matmul(const at::Tensor& dy) const override;

 private:
  at::Tensor weight_;
};

/// W is packed, each layer's rows by themselves. It is dequantised for each product, on CPUs and where it is very large
/// some rows at a time.
class PackedWeight : public BaseWeight {
 public:
  at::Tensor matmul(const at::Tensor& x) const override;
  at::Tensor transposed_matmul(const at::Tensor& dy) const override;

  /// Quantises the weight [out, in] of a layer, which may lie anywhere.
  virtual void fill(std::size_t layer, const at::Tensor& weight) = 0;
  /// Takes a layer as it is stored. \throws DataError for one of another kind, shape or code
  virtual void take(std::size_t layer, const StoredWeight& stored) = 0;
  /// See WeightSink::share.
  virtual void share(std::size_t layer, const ShareTensors& share) = 0;
  /// In memory.
  virtual std::int64_t bytes() const = 0;
  /// What that consists of, but for small tensors.
  virtual std::vector<at::Tensor> matrices() const = 0;

 protected:
  /// Layers of `outs` rows each, of which every `aligned` begin a new block.
  PackedWeight(std::int64_t in, std::vector<std::int64_t> outs, std::int64_t aligned);
  /// Rows of a layer from `first` on.
  struct LayerRows {
    std::size_t layer;
    std::int64_t first;
    at::Tensor values;  ///< [count, in], contiguous, of any floating-point type: to be filled with theirs
  };
  /// Fills the values, which have one type. \pre there is one
  virtual void dequantise(std::span<const LayerRows> rows) const = 0;

 private:
  /// Rows of W that are dequantised together, and of which they are.
  struct Panel {
    std::int64_t first = 0, count = 0;
  };
  /// Of a product with an operand.
  std::vector<Panel> panels(const at::Tensor& operand) const;
  /// [panel.count, in]
  at::Tensor values(const Panel& panel, const at::TensorOptions& options) const;

  std::int64_t in_, out_ = 0, aligned_;
  std::vector<std::int64_t> outs_;
};

/// W is in NF4, but for layers that are kept whole.
class Nf4Weight final : public PackedWeight {
 public:
  /// Rows of a layer, and whether it is kept as it is.
  struct Layer {
    std::int64_t out = 0;
    bool is_whole = false;
  };
  /// Not filled. \param options of what is kept whole; their device is that of the rest, too
  Nf4Weight(std::int64_t in, const std::vector<Layer>& layers, DoubleQuantisation nested,
            const at::TensorOptions& options);
  void fill(std::size_t layer, const at::Tensor& weight) override;
  void take(std::size_t layer, const StoredWeight& stored) override;
  void share(std::size_t layer, const ShareTensors& share) override;
  std::int64_t bytes() const override;
  std::vector<at::Tensor> matrices() const override;
  /// Those kept whole have no elements here.
  const std::vector<Nf4Matrix>& layers() const { return layers_; }

 protected:
  void dequantise(std::span<const LayerRows> rows) const override;

 private:
  static void copy(const Nf4Matrix& from, Nf4Matrix& to);
  std::vector<Nf4Matrix> layers_;
  std::vector<at::Tensor> whole_;  ///< by layer [out, in]; undefined where it is in NF4
};

}  // namespace multicard
