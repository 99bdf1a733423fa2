#pragma once
/// \file The safetensors format: eight bytes N (little-endian), N bytes of JSON, the tensors' bytes.
/// https://huggingface.co/docs/safetensors

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace multicard {

/// One tensor: row-major, little-endian. `bytes` points into the mapped file or, when writing, to the caller's memory.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  ///< "F32", "BF16", "I64", ...
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Bytes of one element of a safetensors dtype; 0 for a name that is not one.
std::size_t safetensors_element_bytes(const std::string& dtype);

/// Bytes of a tensor; nothing for an unknown dtype, a negative extent or more than 2^63 bytes.
std::optional<std::uint64_t> safetensors_num_bytes(const std::string& dtype, const std::vector<std::int64_t>& shape);

/// A file mapped into memory. The constructor checks everything a later use relies on: lengths, names, dtypes, shapes,
/// and that the tensors cover the data without overlap or hole; anything else is a DataError.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return path_; }
  /// In file order.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  /// nullptr if there is none of this name.
  const SafetensorsEntry* find(const std::string& name) const;
  /// A DataError naming the nearest name if there is none.
  const SafetensorsEntry& at(const std::string& name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// Gives every tensor the name that `named` makes of its own. \throws DataError where two get the same
  void rename(const std::function<std::string(const std::string&)>& named);
  /// Keeps the bytes of all entries valid as long as it is held, also beyond this object.
  std::shared_ptr<const void> mapping() const { return mapping_; }
  /// Takes the pages of `bytes`, a part of an entry, out of this process; a later read fetches them again. A single
  /// pass through a large file so keeps only what is in use.
  static void give_back(std::span<const std::byte> bytes);

 private:
  std::string path_;
  std::shared_ptr<const void> mapping_;
  std::vector<SafetensorsEntry> entries_;
  std::map<std::string, std::size_t> index_;
  std::map<std::string, std::string> metadata_;
};

/// A tensor that is to be written, before its bytes are there.
struct TensorHeader {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;

  /// 0 when dtype or shape are none of a tensor.
  std::uint64_t num_bytes() const { return safetensors_num_bytes(dtype, shape).value_or(0); }
};

/// Texts that stand in a file's header; other programs pass over those they do not know.
using SafetensorsMetadata = std::map<std::string, std::string>;

/// Where everything stands in a file that is to be written. Equal tensors give equal files, whatever their order: they
/// stand by falling element size, then by name.
class SafetensorsLayout {
 public:
  /// \param path for messages \throws DataError for an unknown dtype, an impossible shape or a name used twice.
  SafetensorsLayout(const std::string& path, std::vector<TensorHeader> tensors,
                    const SafetensorsMetadata& metadata = {{"format", "pt"}});

  /// In file order.
  const std::vector<TensorHeader>& tensors() const { return tensors_; }
  /// The bytes before those of the first tensor.
  const std::string& header() const { return header_; }
  /// The place in the file of a tensor's first byte. \throws std::out_of_range where there is none of this name
  std::uint64_t begin_of(const std::string& name) const { return begins_.at(name); }
  /// Bytes of the file.
  std::uint64_t num_bytes() const { return num_bytes_; }

 private:
  std::vector<TensorHeader> tensors_;
  std::string header_;
  std::map<std::string, std::uint64_t> begins_;
  std::uint64_t num_bytes_ = 0;
};

/// A file written tensor by tensor, so that only one of them has to be in memory. It appears when it is whole.
class SafetensorsWriter {
 public:
  /// \throws DataError as SafetensorsLayout
  SafetensorsWriter(const std::string& path, std::vector<TensorHeader> tensors,
                    const SafetensorsMetadata& metadata = {{"format", "pt"}});
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  /// The order in which write() wants them.
  const std::vector<TensorHeader>& tensors() const;
  /// All bytes of the next tensor; DataError when their number is another than its shape and dtype give.
  void write(std::span<const std::byte> bytes);
  /// DataError when tensors are missing.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Writes a file that appears when it is whole, with the order of SafetensorsLayout. A shape that does not fit its
/// bytes or a name used twice is a DataError.
void write_safetensors(const std::string& path, std::span<const SafetensorsEntry> entries,
                       const std::map<std::string, std::string>& metadata = {{"format", "pt"}});

}  // namespace multicard
