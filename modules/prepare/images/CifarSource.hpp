#pragma once
/// \file Images in the binary files of CIFAR-10 and CIFAR-100.

#include <memory>

#include "prepare/files/SeekableInput.hpp"
#include "prepare/images/ImageSource.hpp"

namespace multicard {

/// Files of records: one label byte (CIFAR-10) or a coarse and a fine one (CIFAR-100; the fine one is used), then three
/// planes, red, green and blue, of 32 x 32 bytes. Which of the two it is follows from the size of the files. Class
/// names come from batches.meta.txt or fine_label_names.txt in their folder, else they are numbers.
class CifarSource final : public ImageSource {
 public:
  /// Files in the order given.
  explicit CifarSource(const std::vector<std::string>& files);

  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  std::int64_t label(std::int64_t index) const override { return labels_[static_cast<std::size_t>(index)]; }
  std::string name_of(std::int64_t index) const override;
  std::optional<ImageShape> common_shape() const override { return kShape; }
  ImageShape shape_of(std::int64_t) const override { return kShape; }
  Image read(std::int64_t index) const override;
  std::vector<std::string> class_names() const override { return class_names_; }
  std::string description() const override;
  std::vector<SourceFile> files(const std::vector<std::int64_t>& indices) const override;

 private:
  static constexpr ImageShape kShape{32, 32, 3};
  struct File {
    std::unique_ptr<SeekableInput> input;
    std::int64_t first, count;
  };
  const File& file_of(std::int64_t index) const;
  void read_labels(const File& file);

  std::int64_t label_bytes_ = 0;
  std::vector<File> files_;
  std::vector<std::uint8_t> labels_;
  std::vector<std::string> class_names_;
};

/// The *.bin files of a CIFAR folder, or those that a glob names, sorted. \throws DataError when a folder holds
/// training and test files, which belong into different shards.
std::vector<std::string> cifar_files(const std::string& folder, const std::string& pattern);

}  // namespace multicard
