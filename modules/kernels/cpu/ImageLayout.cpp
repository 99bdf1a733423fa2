#include "kernels/cpu/ImageLayout.hpp"

#include <ATen/ops/empty.h>

#include "kernels/cpu/Gemm.hpp"
#include "kernels/cpu/Partition.hpp"
#include "kernels/cpu/TensorValues.hpp"

namespace multicard {
namespace {

// Each of the `images` is a matrix [rows, columns].
template <typename S>
void transpose_images(const S* x, std::int64_t images, std::int64_t rows, std::int64_t columns, S* y) {
  Partition(images, 1).for_each([&](std::int64_t, std::int64_t first, std::int64_t end) {
    for (std::int64_t image = first; image < end; ++image)
      transpose(x + image * rows * columns, rows, columns, y + image * rows * columns);
  });
}

}  // namespace

at::MemoryFormat layout_of(const at::Tensor& x) {
  return x.is_contiguous(at::MemoryFormat::ChannelsLast) ? at::MemoryFormat::ChannelsLast
                                                         : at::MemoryFormat::Contiguous;
}

at::Tensor in_layout(const at::Tensor& x, at::MemoryFormat layout) {
  const bool to_rows = layout == at::MemoryFormat::ChannelsLast;
  const at::MemoryFormat other = to_rows ? at::MemoryFormat::Contiguous : at::MemoryFormat::ChannelsLast;
  // Between [C, H W] and [H W, C] an image is transposed as a matrix, by blocks that fill cache lines; ATen's copy
  // walks one of the two with large steps.
  if (x.is_contiguous(layout) || !x.is_contiguous(other)) return x.contiguous(layout);
  at::Tensor y = at::empty(x.sizes(), x.options(), layout);
  const std::int64_t channels = x.size(1), size = x.size(2) * x.size(3);
  with_storage(x.scalar_type(), [&]<typename S>() {
    transpose_images(values_of<S>(x), x.size(0), to_rows ? channels : size, to_rows ? size : channels,
                     mutable_values_of<S>(y));
  });
  return y;
}

}  // namespace multicard
