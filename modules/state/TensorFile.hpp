#pragma once
/// \file Tensors in safetensors files.

#include <map>
#include <optional>
#include <span>
#include <string>

#include "io/ForeignFormat.hpp"
#include "io/Safetensors.hpp"
#include "state/NamedTensor.hpp"

namespace multicard {

/// The tensor type of a safetensors dtype ("F32", ...) and the other way; nothing where there is no counterpart.
std::optional<at::ScalarType> scalar_type_of(const std::string& safetensors_dtype);
std::optional<std::string> safetensors_dtype(at::ScalarType type);

/// The tensors of one safetensors file. Throws DataError for a file that is not one.
class TensorFile {
 public:
  explicit TensorFile(const std::string& path) : file_(path) {}

  const std::string& path() const { return file_.path(); }
  const SafetensorsFile& file() const { return file_; }
  void rename(const std::function<std::string(const std::string&)>& named) { file_.rename(named); }
  bool contains(const std::string& name) const { return file_.find(name) != nullptr; }

  /// The tensor `name` on the CPU, sharing the mapped file's memory where it is aligned: never write to it. Valid also
  /// after this object. DataError if there is none, or if its dtype has no counterpart.
  at::Tensor view(const std::string& name) const;
  /// Elements that follow each other in it, [count], likewise.
  at::Tensor view(const std::string& name, std::int64_t first, std::int64_t count) const;
  /// A copy of the tensor that may be written to.
  at::Tensor load(const std::string& name) const { return view(name).clone(); }
  /// Copies of all tensors, in file order.
  NamedTensors load_all() const;

 private:
  at::Tensor view(const SafetensorsEntry& entry, std::span<const std::byte> bytes, at::IntArrayRef shape) const;

  SafetensorsFile file_;
};

/// The safetensors dtype of the tensor `name`, which is to be written to `path`. \throws DataError where it has none
std::string dtype_in_files(at::ScalarType type, const std::string& name, const std::string& path);

/// Writes `tensors` (any device, any strides) into a file that appears when it is whole. DataError for a dtype without
/// counterpart and for problems with the file.
void save_tensors(const std::string& path, const NamedTensors& tensors,
                  const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

/// Names that a file may have in addition to its model's and that are left out.
std::span<const ForeignKey> extra_tensors();

/// \throws DataError when a target is missing from the file (only a `num_batches_tracked` may be), when shapes differ,
/// or when the file holds tensors that are neither a target nor one of extra_tensors()
void check_matches(const NamedTensors& targets, const TensorFile& file,
                   const std::string& suggestion = "Check the model's width and number of classes.");

/// Fills every target from the tensor of its name; dtype, device and memory format of the targets stay. \throws as
/// check_matches, with nothing written
void copy_into(const NamedTensors& targets, const TensorFile& file,
               const std::string& suggestion = "Check the model's width and number of classes.");

}  // namespace multicard
