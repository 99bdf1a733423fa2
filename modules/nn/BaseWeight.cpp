#include "nn/BaseWeight.hpp"

#include <algorithm>
#include <numeric>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "kernels/Matmul.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kPanelBytes = 32 << 20;

}  // namespace

at::Tensor DenseWeight::product(const at::Tensor& x) const {
  return fast_matmul(x, weight_.to(x.scalar_type()).t());
}

at::Tensor DenseWeight::transposed_product(const at::Tensor& dy) const {
  return fast_matmul(dy, weight_.to(dy.scalar_type()));
}

Nf4Weight::Nf4Weight(std::int64_t in, const std::vector<std::int64_t>& outs, DoubleQuantisation nested,
                     at::Device device)
    : in_(in) {
  for (const std::int64_t out : outs) {
    layers_.push_back(empty_nf4(out, in, nested, device));
    out_ += out;
  }
}

void Nf4Weight::fill(std::size_t layer, const at::Tensor& weight) {
  Nf4Matrix& to = layers_.at(layer);
  const Nf4Matrix from = quantise_nf4(weight.cpu(), to.is_nested() ? DoubleQuantisation::on : DoubleQuantisation::off);
  to.packed.copy_(from.packed);
  to.absmax.copy_(from.absmax);
  if (to.is_nested()) to.nested_absmax.copy_(from.nested_absmax);
  to.nested_offset = from.nested_offset;
}

/// Whole where all of it is small, else parts that begin with a block of their layer.
std::vector<Nf4Weight::Panel> Nf4Weight::panels(at::ScalarType dtype) const {
  const std::int64_t row_bytes = in_ * static_cast<std::int64_t>(c10::elementSize(dtype));
  if (out_ * row_bytes <= kPanelBytes) return {{0, out_}};
  const std::int64_t aligned = kNf4Block / std::gcd(in_, kNf4Block);  // rows that end with a block
  const std::int64_t most = std::max(aligned, kPanelBytes / row_bytes / aligned * aligned);
  std::vector<Panel> panels;
  std::int64_t layer_begin = 0;
  for (const Nf4Matrix& layer : layers_) {
    for (std::int64_t first = 0; first < layer.rows; first += most)
      panels.push_back({layer_begin + first, std::min(most, layer.rows - first)});
    layer_begin += layer.rows;
  }
  return panels;
}

std::vector<at::Tensor> Nf4Weight::scales() const {
  std::vector<at::Tensor> scales;
  for (const Nf4Matrix& layer : layers_)
    scales.push_back(nf4_scales(layer));
  return scales;
}

at::Tensor Nf4Weight::values(const Panel& panel, const std::vector<at::Tensor>& scales, at::ScalarType dtype) const {
  at::Tensor values = at::empty({panel.count, in_}, layers_.front().packed.options().dtype(dtype));
  std::int64_t begin = 0;  // of the layer
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const std::int64_t first = std::max(panel.first, begin);
    const std::int64_t end = std::min(panel.first + panel.count, begin + layers_[i].rows);
    if (first < end)
      dequantise_nf4(layers_[i], scales[i], first - begin, values.narrow(0, first - panel.first, end - first));
    begin += layers_[i].rows;
  }
  return values;
}

at::Tensor Nf4Weight::product(const at::Tensor& x) const {
  const std::vector<Panel> panels = this->panels(x.scalar_type());
  const std::vector<at::Tensor> scales = this->scales();
  if (panels.size() == 1) return fast_matmul(x, values(panels.front(), scales, x.scalar_type()).t());
  const at::Tensor y = at::empty({x.size(0), out_}, x.options());
  for (const Panel& panel : panels)
    y.narrow(1, panel.first, panel.count).copy_(fast_matmul(x, values(panel, scales, x.scalar_type()).t()));
  return y;
}

at::Tensor Nf4Weight::transposed_product(const at::Tensor& dy) const {
  const std::vector<Panel> panels = this->panels(dy.scalar_type());
  const std::vector<at::Tensor> scales = this->scales();
  if (panels.size() == 1) return fast_matmul(dy, values(panels.front(), scales, dy.scalar_type()));
  at::Tensor dx = at::zeros({dy.size(0), in_}, dy.options());
  for (const Panel& panel : panels)
    dx.addmm_(dy.narrow(1, panel.first, panel.count), values(panel, scales, dy.scalar_type()));
  return dx;
}

}  // namespace multicard
