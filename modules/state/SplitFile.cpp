#include "state/SplitFile.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <system_error>

#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>

#include "io/Bytes.hpp"
#include "io/ReservedSpace.hpp"
#include "io/Safetensors.hpp"
#include "state/TensorFile.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

SafetensorsLayout layout_of(const std::string& path, const CheckpointPart& part) {
  std::vector<TensorHeader> tensors;
  for (const auto& [name, tensor] : part.tensors)
    tensors.push_back({name, dtype_in_files(tensor.scalar_type(), name, path), tensor.sizes().vec()});
  return {path, std::move(tensors)};
}

std::string_view bytes_of(const at::Tensor& contiguous) {
  return {static_cast<const char*>(contiguous.const_data_ptr()), contiguous.nbytes()};
}

/// What this rank writes by where it begins; pieces of no elements are left out.
std::map<std::uint64_t, at::Tensor> by_place(const CheckpointPart& part, const SafetensorsLayout& layout,
                                             bool is_root) {
  std::map<std::uint64_t, at::Tensor> places;
  std::map<std::string, const at::Tensor*> whole;
  for (const auto& [name, tensor] : part.tensors) {
    whole[name] = &tensor;
    if (is_root && !tensor.is_meta() && tensor.numel() > 0) places[layout.begin_of(name)] = tensor;
  }
  for (const auto& [name, first, values] : part.pieces) {
    const at::Tensor& tensor = *whole.at(name);
    if (!tensor.is_meta() || values.scalar_type() != tensor.scalar_type() || first < 0 ||
        first + values.numel() > tensor.numel())
      throw std::logic_error(fmt::format("a piece of {} is none of the tensor that is to be written", name));
    if (values.numel() > 0)
      places[layout.begin_of(name) + static_cast<std::uint64_t>(first) * tensor.element_size()] = values;
  }
  return places;
}

}  // namespace

at::Tensor shape_of(const at::Tensor& tensor) {
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta).requires_grad(false));
}

bool is_split(const CheckpointPart& part) {
  return part.in_pieces && std::any_of(part.tensors.begin(), part.tensors.end(),
                                       [](const NamedTensor& entry) { return entry.tensor.is_meta(); });
}

CheckpointParts pieces_alone(const CheckpointParts& parts) {
  CheckpointParts own;
  for (const CheckpointPart& part : parts) {
    if (!is_split(part)) continue;
    CheckpointPart& copy = own.emplace_back(part);
    for (auto& [name, tensor] : copy.tensors)
      tensor = shape_of(tensor);
  }
  return own;
}

void make_split_file(const std::string& folder, const CheckpointPart& part) {
  const std::string path = folder + "/" + part.file;
  const std::uint64_t num_bytes = layout_of(path, part).num_bytes();
  OutputFile(path).close();
  // A full disk shows here, on one rank and before anything was written; and no rank's write changes the length.
  ReservedSpace(path).reserve(num_bytes);
  std::error_code failure;
  fs::resize_file(path, num_bytes, failure);
  if (failure) refuse_writing(path, failure.value());
}

WrittenRanges write_split_file(const std::string& folder, const CheckpointPart& part, bool is_root) {
  const std::string path = folder + "/" + part.file;
  const SafetensorsLayout layout = layout_of(path, part);
  RangeWriter file(path);
  if (is_root) file.write(0, layout.header());
  for (const auto& [begin, tensor] : by_place(part, layout, is_root))
    file.write(begin, bytes_of(tensor.contiguous()));
  return file.finish();
}

}  // namespace multicard
