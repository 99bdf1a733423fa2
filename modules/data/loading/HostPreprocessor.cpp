#include "data/loading/HostPreprocessor.hpp"

namespace multicard {

namespace {

std::variant<Preprocessor<float>, Preprocessor<double>> make_preprocessor(const PreprocessOptions& options,
                                                                          at::ScalarType type) {
  if (type == at::kDouble) return Preprocessor<double>(options);
  return Preprocessor<float>(options);
}

std::array<std::int64_t, 4> strides_of(const PreprocessOptions& options) {
  const std::int64_t size = options.size, area = size * size;
  if (options.layout == ImageLayout::nhwc) return {3 * area, 1, 3 * size, 3};
  return {3 * area, area, size, 1};
}

}  // namespace

// An ImageWindow is five int32 without padding (asserted in its header), and so is a row of the tensor.
std::span<const ImageWindow> windows_of(const at::Tensor& windows) {
  if (!windows.defined()) return {};
  const auto* rows = reinterpret_cast<const ImageWindow*>(windows.const_data_ptr<std::int32_t>());
  return {rows, static_cast<std::size_t>(windows.size(0))};
}

HostPreprocessor::HostPreprocessor(const PreprocessOptions& options, at::ScalarType type)
    : bytes_per_image_(options.height * options.width * options.channels),
      strides_(strides_of(options)),
      preprocessor_(make_preprocessor(options, type)) {}

void HostPreprocessor::run(const std::uint8_t* pixels, std::span<const ImageWindow> windows, std::int64_t first,
                           std::int64_t count, const at::Tensor& images) const {
  if (count == 0) return;
  const std::uint8_t* from = pixels + first * bytes_per_image_;
  const auto work = [&]<class T>(const Preprocessor<T>& preprocessor) {
    T* to = images.mutable_data_ptr<T>() + first * preprocessor.num_values();
    if (windows.empty())
      preprocessor.run(from, count, to);
    else
      preprocessor.run(from, windows.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), to);
  };
  std::visit(work, preprocessor_);
}

}  // namespace multicard
