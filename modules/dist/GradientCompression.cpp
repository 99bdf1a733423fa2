#include "dist/GradientCompression.hpp"

#include "dist/PowerSgd.hpp"

namespace multicard {

namespace {

std::int64_t columns_of(const at::Tensor& gradient) {
  return gradient.numel() / gradient.size(0);
}

}  // namespace

std::int64_t compression_bytes(const std::vector<at::Tensor>& gradients, const CompressionOptions& options) {
  if (options.rank == 0) return 0;
  const std::int64_t copies = options.may_skip ? 2 : 1;
  std::int64_t bytes = 0;
  for (const at::Tensor& gradient : gradients) {
    const bool is_small = is_compressed(gradient, options.rank);
    // Besides Q of now what it began with, and Q before a step that may be taken back.
    const std::int64_t numel = is_small ? copies * gradient.numel() + options.rank * gradient.size(0) +
                                              (1 + copies) * options.rank * columns_of(gradient)
                                        : gradient.numel();
    bytes += numel * gradient.element_size();
  }
  return bytes;
}

std::int64_t compressed_bytes(const std::vector<at::Tensor>& gradients, std::int64_t rank, std::int64_t element) {
  std::int64_t bytes = 0;
  for (const at::Tensor& gradient : gradients) {
    const std::int64_t numel =
        is_compressed(gradient, rank) ? rank * (gradient.size(0) + columns_of(gradient)) : gradient.numel();
    bytes += numel * (element > 0 ? element : gradient.element_size());
  }
  return bytes;
}

}  // namespace multicard
