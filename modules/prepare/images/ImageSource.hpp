#pragma once
/// \file Where images come from before they are shards.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "prepare/files/SourceFiles.hpp"
#include "prepare/images/Image.hpp"
#include "prepare/images/PrepareOptions.hpp"

namespace multicard {

/// Labelled images in a fixed order. Reading is not collective; it is cheapest in ascending order. An image that cannot
/// be read is a DataError naming it.
class ImageSource {
 public:
  virtual ~ImageSource() = default;

  virtual std::int64_t size() const = 0;
  virtual std::int64_t label(std::int64_t index) const = 0;
  /// What to call the image in messages: a file, or a place in one.
  virtual std::string name_of(std::int64_t index) const = 0;
  /// The shape of all images; none if they may differ.
  virtual std::optional<ImageShape> common_shape() const = 0;
  /// The shape of one image, as read() will give it, without decoding all of it.
  virtual ImageShape shape_of(std::int64_t index) const = 0;
  virtual Image read(std::int64_t index) const = 0;

  /// In label order.
  virtual std::vector<std::string> class_names() const = 0;
  /// One line for the shards' attribute `source`.
  virtual std::string description() const = 0;
  /// The files that hold the images `indices`, in input order.
  virtual std::vector<SourceFile> files(const std::vector<std::int64_t>& indices) const = 0;
};

/// Collective. Opens what the options name. \throws UsageError and DataError on all ranks.
std::unique_ptr<ImageSource> open_image_source(const PrepareOptions& options, const Communicator& communicator);

}  // namespace multicard
