#pragma once
/// \file Images made up by the program.

#include "prepare/images/ImageSource.hpp"

namespace multicard {

/// Colour images that can be distinguished by learning and need no input: label i mod classes; every class has a smooth
/// pattern of its own, every image its own brightness and noise. Integers only: the same bytes on every machine.
class SyntheticSource final : public ImageSource {
 public:
  SyntheticSource(std::int64_t num_images, std::int64_t num_classes, std::int64_t size);

  std::int64_t size() const override { return num_images_; }
  std::int64_t label(std::int64_t index) const override { return index % num_classes_; }
  std::string name_of(std::int64_t index) const override;
  std::optional<ImageShape> common_shape() const override { return shape_; }
  ImageShape shape_of(std::int64_t) const override { return shape_; }
  Image read(std::int64_t index) const override;
  std::vector<std::string> class_names() const override;
  std::string description() const override;
  std::vector<SourceFile> files(const std::vector<std::int64_t>&) const override { return {}; }

 private:
  std::int64_t num_images_, num_classes_;
  ImageShape shape_;
};

}  // namespace multicard
