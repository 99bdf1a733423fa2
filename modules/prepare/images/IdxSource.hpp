#pragma once
/// \file Images in the IDX files of MNIST and its relatives.

#include <memory>

#include "prepare/files/SeekableInput.hpp"
#include "prepare/images/ImageSource.hpp"

namespace multicard {

/// An image file (magic 0x00000803: count, rows, columns as big-endian 32-bit numbers, then grey bytes row by row) and
/// a label file (0x00000801: count, then bytes), each gzip or plain.
class IdxSource final : public ImageSource {
 public:
  IdxSource(const std::string& images, const std::string& labels);

  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  std::int64_t label(std::int64_t index) const override { return labels_[static_cast<std::size_t>(index)]; }
  std::string name_of(std::int64_t index) const override;
  std::optional<ImageShape> common_shape() const override { return shape_; }
  ImageShape shape_of(std::int64_t) const override { return shape_; }
  Image read(std::int64_t index) const override;
  /// The numbers from 0 to the largest label.
  std::vector<std::string> class_names() const override;
  std::string description() const override;
  std::vector<SourceFile> files(const std::vector<std::int64_t>& indices) const override;

 private:
  std::unique_ptr<SeekableInput> images_;
  std::string labels_path_;
  ImageShape shape_;
  std::vector<std::uint8_t> labels_;
};

}  // namespace multicard
