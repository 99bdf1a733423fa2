#pragma once
/// \file Pictures in one folder a class.

#include "prepare/images/ImageSource.hpp"

namespace multicard {

/// The pictures of DIR/<class>/*.{jpg,jpeg,png} (endings in any case), class by class and by file name. Classes are
/// sorted by name, as numbers if all are numbers. A warning counts what is left out (see FolderListing.hpp).
class FolderSource final : public ImageSource {
 public:
  /// Collective. Rank 0 lists the folders. \throws DataError on all ranks, also for a class without pictures.
  FolderSource(const std::string& folder, const Communicator& communicator);

  std::int64_t size() const override { return static_cast<std::int64_t>(files_.size()); }
  std::int64_t label(std::int64_t index) const override { return labels_[static_cast<std::size_t>(index)]; }
  std::string name_of(std::int64_t index) const override;
  std::optional<ImageShape> common_shape() const override { return std::nullopt; }
  ImageShape shape_of(std::int64_t index) const override;
  Image read(std::int64_t index) const override;
  std::vector<std::string> class_names() const override { return class_names_; }
  std::string description() const override;
  std::vector<SourceFile> files(const std::vector<std::int64_t>& indices) const override;

 private:
  std::string folder_;
  std::vector<std::string> class_names_;
  std::vector<std::string> files_;  ///< below folder_
  std::vector<std::int32_t> labels_;
};

}  // namespace multicard
