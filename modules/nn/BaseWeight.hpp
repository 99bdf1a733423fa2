#pragma once
/// \file What linear layers multiply with: weights as they are stored.

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "kernels/Nf4.hpp"
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

/// W is in NF4, each layer's rows by themselves. It is dequantised for each product, some rows at a time: never all of
/// a large one.
class Nf4Weight final : public BaseWeight {
 public:
  /// Layers of `outs` rows each; not filled.
  Nf4Weight(std::int64_t in, const std::vector<std::int64_t>& outs, DoubleQuantisation nested, at::Device device);
  /// Quantises the weight [out, in] of a layer, which may lie anywhere.
  void fill(std::size_t layer, const at::Tensor& weight);
  /// \throws DataError for one of another shape, block size or code
  void take(std::size_t layer, const StoredNf4& stored);
  const std::vector<Nf4Matrix>& layers() const { return layers_; }

  at::Tensor matmul(const at::Tensor& x) const override;
  at::Tensor transposed_matmul(const at::Tensor& dy) const override;

 private:
  /// Rows of W that are dequantised together, and of which they are.
  struct Panel {
    std::int64_t first = 0, count = 0;
  };
  std::vector<Panel> panels(at::ScalarType dtype) const;
  /// [panel.count, in]
  at::Tensor values(const Panel& panel, const std::vector<at::Tensor>& scales, at::ScalarType dtype) const;
  std::vector<at::Tensor> scales() const;

  std::int64_t in_, out_ = 0;
  std::vector<Nf4Matrix> layers_;
};

}  // namespace multicard
