#include <algorithm>
#include <cstring>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/JsonText.hpp"
#include "io/AtomicFile.hpp"
#include "io/Bytes.hpp"
#include "io/Safetensors.hpp"

namespace multicard {

namespace {

constexpr std::size_t kPrefixBytes = 8;
const char* const kMetadataKey = "__metadata__";

bool stands_before(const TensorHeader& a, const TensorHeader& b) {
  // As the reference implementation: by falling element size every tensor starts at a multiple of its own without
  // padding, which the format does not allow.
  return std::pair(safetensors_element_bytes(b.dtype), a.name) < std::pair(safetensors_element_bytes(a.dtype), b.name);
}

[[noreturn]] void refuse(const std::string& path, const std::string& name, const std::string& why) {
  throw DataError(fmt::format("{}: the tensor {} cannot be written", path, name), why);
}

void require_writable(const std::string& path, const std::vector<TensorHeader>& tensors) {
  // The name of the metadata is taken: a tensor of that name would be read as such.
  std::set<std::string> names{kMetadataKey};
  for (const TensorHeader& tensor : tensors) {
    if (safetensors_element_bytes(tensor.dtype) == 0)
      refuse(path, tensor.name, fmt::format("dtype {} is unknown", tensor.dtype));
    if (!safetensors_num_bytes(tensor.dtype, tensor.shape)) refuse(path, tensor.name, "its shape is impossible");
    if (!names.insert(tensor.name).second) refuse(path, tensor.name, "its name is used twice");
  }
}

/// The JSON of a file with these tensors, padded so that the data start at a multiple of 8.
std::string make_json(const std::vector<TensorHeader>& tensors, const SafetensorsMetadata& metadata) {
  // Ordered as the data are; a reader may then fetch tensors in the order of the header without seeking back.
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::uint64_t at = 0;
  for (const TensorHeader& tensor : tensors) {
    const std::uint64_t end = at + tensor.num_bytes();
    header[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = json_text(header);
  text.resize((text.size() + kPrefixBytes - 1) / kPrefixBytes * kPrefixBytes, ' ');
  return text;
}

}  // namespace

SafetensorsLayout::SafetensorsLayout(const std::string& path, std::vector<TensorHeader> tensors,
                                     const SafetensorsMetadata& metadata)
    : tensors_(std::move(tensors)) {
  require_writable(path, tensors_);
  std::sort(tensors_.begin(), tensors_.end(), stands_before);
  const std::string json = make_json(tensors_, metadata);
  const std::uint64_t json_bytes = json.size();
  header_.assign(reinterpret_cast<const char*>(&json_bytes), kPrefixBytes);
  header_ += json;
  num_bytes_ = header_.size();
  for (const TensorHeader& tensor : tensors_) {
    begins_[tensor.name] = num_bytes_;
    num_bytes_ += tensor.num_bytes();
  }
}

struct SafetensorsWriter::Impl {
  Impl(const std::string& path_given, SafetensorsLayout announced)
      : path(path_given), layout(std::move(announced)), pending(path), file(pending.path()) {}

  std::string path;
  SafetensorsLayout layout;
  std::size_t num_written = 0;
  // In this order: the file is closed before an unfinished one is removed.
  PendingFile pending;
  OutputFile file;
};

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::vector<TensorHeader> tensors,
                                     const SafetensorsMetadata& metadata)
    : impl_(std::make_unique<Impl>(path, SafetensorsLayout(path, std::move(tensors), metadata))) {
  impl_->file.write(impl_->layout.header());
}

SafetensorsWriter::~SafetensorsWriter() = default;

const std::vector<TensorHeader>& SafetensorsWriter::tensors() const {
  return impl_->layout.tensors();
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  if (impl_->num_written == tensors().size())
    throw DataError(fmt::format("{}: more tensors are written than were announced", impl_->path));
  const TensorHeader& tensor = tensors()[impl_->num_written];
  if (bytes.size() != tensor.num_bytes()) refuse(impl_->path, tensor.name, "its bytes do not fit its shape and dtype");
  impl_->file.write(bytes);
  ++impl_->num_written;
}

void SafetensorsWriter::commit() {
  if (impl_->num_written != tensors().size())
    refuse(impl_->path, tensors()[impl_->num_written].name, "its bytes are missing");
  impl_->file.close();
  impl_->pending.commit();
}

void write_safetensors(const std::string& path, std::span<const SafetensorsEntry> entries,
                       const SafetensorsMetadata& metadata) {
  std::vector<TensorHeader> tensors;
  std::map<std::string, std::span<const std::byte>> bytes;
  for (const SafetensorsEntry& entry : entries) {
    tensors.push_back({entry.name, entry.dtype, entry.shape});
    bytes[entry.name] = entry.bytes;
    if (tensors.back().num_bytes() != entry.bytes.size())
      refuse(path, entry.name, "its bytes do not fit its shape and dtype");
  }
  SafetensorsWriter writer(path, std::move(tensors), metadata);
  for (const TensorHeader& tensor : writer.tensors())
    writer.write(bytes.at(tensor.name));
  writer.commit();
}

}  // namespace multicard
