#include "data/loading/DevicePreprocessor.hpp"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_strided.h>

namespace multicard {

namespace {

std::variant<HostPreprocessor, TensorPreprocessor> make_preprocessor(const PreprocessOptions& options,
                                                                     at::ScalarType type, at::Device device) {
  if (device.is_cpu()) return HostPreprocessor(options, type);
  return TensorPreprocessor(options, type, device);
}

}  // namespace

DevicePreprocessor::DevicePreprocessor(const PreprocessOptions& options, at::ScalarType type, at::Device device)
    : size_(options.size), type_(type), preprocessor_(make_preprocessor(options, type, device)) {}

at::Tensor DevicePreprocessor::run(const at::Tensor& bytes, const at::Tensor& windows) const {
  if (const auto* on_host = std::get_if<HostPreprocessor>(&preprocessor_)) return run_on_host(*on_host, bytes, windows);
  return std::get<TensorPreprocessor>(preprocessor_).run(bytes, windows);
}

at::Tensor DevicePreprocessor::run_on_host(const HostPreprocessor& preprocessor, const at::Tensor& bytes,
                                           const at::Tensor& windows) const {
  const std::int64_t num_images = bytes.size(0);
  at::Tensor images = at::empty_strided({num_images, 3, size_, size_}, preprocessor.strides(), type_);
  // Images are independent of each other: the bits do not depend on how the range is cut.
  at::parallel_for(0, num_images, 1, [&](std::int64_t first, std::int64_t last) {
    preprocessor.run(bytes.const_data_ptr<std::uint8_t>(), windows_of(windows), first, last - first, images);
  });
  return images;
}

std::int64_t DevicePreprocessor::bytes_per_row() const {
  if (const auto* on_device = std::get_if<TensorPreprocessor>(&preprocessor_)) return on_device->bytes_per_row();
  return 3 * size_ * size_ * static_cast<std::int64_t>(c10::elementSize(type_));
}

}  // namespace multicard
