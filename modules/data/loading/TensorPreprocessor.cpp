#include "data/loading/TensorPreprocessor.hpp"

#include <algorithm>
#include <type_traits>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros_like.h>

namespace multicard {

namespace {

constexpr std::int64_t kChannels = 3;
constexpr std::int64_t kNumBytes = 256;

// The table comes from Preprocessor itself: (v / 255 - mean) / std computed on a GPU could be contracted to other bits.
template <class T>
at::Tensor table_of(const PreprocessOptions& options) {
  Preprocessor<T> preprocessor(options);
  auto* values = const_cast<T*>(preprocessor.table().front().data());
  return at::from_blob(values, {kChannels * kNumBytes}, std::is_same_v<T, double> ? at::kDouble : at::kFloat).clone();
}

}  // namespace

TensorPreprocessor::TensorPreprocessor(const PreprocessOptions& options, at::ScalarType type, at::Device device)
    : options_(options), type_(type) {
  const at::TensorOptions values = at::TensorOptions(type).device(device);
  const at::Tensor places = at::arange(options.size, values);
  table_ = (type == at::kDouble ? table_of<double>(options) : table_of<float>(options)).to(device);
  table_starts_ = at::arange(kChannels, at::TensorOptions(at::kInt).device(device)) * kNumBytes;
  size_ = at::full({1}, options.size, values);
  centres_ = places + 0.5;
  mirrored_steps_ = at::stack({at::zeros_like(places), options.size - 1 - 2 * places});
  const auto height = static_cast<std::int32_t>(options.height), width = static_cast<std::int32_t>(options.width);
  whole_ = taps(at::tensor({0, 0, height, width, 0}, at::kInt).view({1, ImageWindow::kNumFields}).to(device));
}

at::Tensor TensorPreprocessor::run(const at::Tensor& bytes, const at::Tensor& windows) const {
  const std::int64_t size = options_.size;
  at::Tensor values = normalised(bytes);
  if (windows.defined() || options_.height != size || options_.width != size) {
    const Taps places = windows.defined() ? taps(windows) : whole_;
    // Columns before rows, as Preprocessor does.
    values = stretched(values, places, Axis::columns);
    values = stretched(values, places, Axis::rows);
  }
  return values.permute({0, 3, 1, 2})
      .contiguous(options_.layout == ImageLayout::nhwc ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
}

std::int64_t TensorPreprocessor::bytes_per_row() const {
  const std::int64_t element = static_cast<std::int64_t>(c10::elementSize(type_));
  const std::int64_t stored = kChannels * options_.height * options_.width;
  const std::int64_t between = kChannels * options_.height * options_.size;
  const std::int64_t result = kChannels * options_.size * options_.size;
  const std::int64_t copies = options_.layout == ImageLayout::nhwc ? 1 : 2;
  const std::int64_t taps = 2 * options_.size * 2 * (8 + element);
  // The table's indices are int32; a stretched picture is a sum of two; taps are made from as much again.
  return 2 * taps + std::max({stored * (element + 4), (stored + 2 * between) * element,
                              (between + 2 * result) * element, copies * result * element});
}

at::Tensor TensorPreprocessor::normalised(const at::Tensor& bytes) const {
  const at::Tensor places = at::add(bytes, table_starts_);  // int32 [n, H, W, 3] from one channel or three
  return at::index_select(table_, 0, places.view({-1})).view(places.sizes());
}

/// Line by line what Preprocessor::taps does.
TensorPreprocessor::Taps TensorPreprocessor::taps(const at::Tensor& windows) const {
  const at::Tensor fields = windows.to(at::kLong).unsqueeze(2);
  const at::Tensor starts = fields.narrow(1, 0, 2), extents = fields.narrow(1, 2, 2), mirror = fields.narrow(1, 4, 1);
  const at::Tensor last = extents - 1;
  const at::Tensor scale = extents.to(type_) / size_;
  const at::Tensor centres = centres_ + mirror * mirrored_steps_;  // whole numbers and halves: exact
  const at::Tensor place = (scale * centres).sub_(0.5).clamp_min_(0);
  Taps taps;
  taps.low = at::minimum(place.to(at::kLong), last);
  taps.high = at::minimum(taps.low + 1, last);
  taps.high_weight = place.sub(taps.low).clamp_(0, 1);
  taps.low_weight = at::rsub(taps.high_weight, 1);
  taps.low += starts;
  taps.high += starts;
  return taps;
}

// A product and a sum in place, each rounded by itself: a fused operation (lerp, addcmul) would round once, and the
// bits would differ from the CPU's.
at::Tensor TensorPreprocessor::stretched(const at::Tensor& values, const Taps& taps, Axis axis) const {
  const std::int64_t dimension = axis == Axis::rows ? 1 : 2, other = axis == Axis::rows ? 2 : 1;
  std::vector<std::int64_t> sizes = values.sizes().vec();
  sizes[static_cast<std::size_t>(dimension)] = options_.size;
  const auto along = [&](const at::Tensor& tap) {
    return tap.select(1, dimension - 1).unsqueeze(-1).unsqueeze(other);  // [n, size, 1, 1] or [n, 1, size, 1]
  };
  const auto weighted = [&](const at::Tensor& place, const at::Tensor& weight) {
    return at::gather(values, dimension, along(place).expand(sizes)).mul_(along(weight));
  };
  return weighted(taps.low, taps.low_weight).add_(weighted(taps.high, taps.high_weight));
}

}  // namespace multicard
