#pragma once
/// \file Images in Parquet files, as data sets on hubs have them.

#include <memory>

#include "prepare/images/ImageSource.hpp"
#include "prepare/images/ParquetColumns.hpp"

namespace multicard {

/// Rows with the bytes of a JPEG or PNG file and a label, file by file. The names of classes are those that the
/// datasets library stores in the file's metadata, else the numbers from 0 to the largest label.
class ParquetSource final : public ImageSource {
 public:
  /// \param columns the names of the columns of images and of labels; empty: find_image_columns()
  /// \throws DataError where several could be meant, files differ in columns or classes, are of two sets or copies, or
  /// a label is missing
  ParquetSource(std::vector<std::string> files, const std::vector<std::string>& columns);

  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  std::int64_t label(std::int64_t index) const override { return labels_[static_cast<std::size_t>(index)]; }
  std::string name_of(std::int64_t index) const override;
  std::optional<ImageShape> common_shape() const override { return std::nullopt; }
  ImageShape shape_of(std::int64_t index) const override;
  Image read(std::int64_t index) const override;
  std::vector<std::string> class_names() const override { return class_names_; }
  std::string description() const override;
  std::vector<SourceFile> files(const std::vector<std::int64_t>& indices) const override;

 private:
  std::size_t file_of(std::int64_t index) const;
  std::string bytes_of(std::int64_t index) const;

  std::vector<std::string> paths_;
  std::vector<std::int64_t> first_;  ///< the index of each file's first image
  ImageColumns columns_;
  std::vector<std::int64_t> labels_;
  std::vector<std::string> class_names_;
  mutable std::unique_ptr<ParquetFile> open_;  ///< the file read last
};

}  // namespace multicard
