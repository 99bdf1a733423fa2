#include "prepare/images/FolderSource.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "prepare/images/FolderListing.hpp"
#include "prepare/images/ImageFile.hpp"

namespace multicard {

namespace {

namespace fs = std::filesystem;

/// No file name holds it.
constexpr char kSeparator = '\0';

}  // namespace

// Rank 0 alone lists: ranks that see a folder at different moments could otherwise number the classes differently. The
// pictures come class by class, so that the label of each follows from its first folder.
FolderSource::FolderSource(const std::string& folder, const Communicator& communicator)
    : folder_(folder.substr(0, std::max<std::size_t>(1, folder.find_last_not_of('/') + 1))) {
  std::vector<std::string> pictures;
  agreed(communicator, [&] {
    if (!communicator.is_root()) return;
    const FolderListing listing(folder_);
    class_names_ = listing.classes();
    pictures = listing.pictures();
    const std::string left_out = listing.left_out();
    if (!left_out.empty()) log_warning(left_out);
    const auto unsorted = std::is_sorted_until(class_names_.begin(), class_names_.end());
    if (unsorted != class_names_.end())
      log_info(
          fmt::format("classes are in the order of their numbers: {} comes before {}, unlike in the order of names",
                      *(unsorted - 1), *unsorted));
  });
  const std::string separator(1, kSeparator);
  class_names_ = split(communicator.broadcast(join(class_names_, separator)), kSeparator);
  files_ = split(communicator.broadcast(join(pictures, separator)), kSeparator);
  std::int32_t label = 0;
  for (const std::string& file : files_) {
    while (!file.starts_with(class_names_[static_cast<std::size_t>(label)] + "/"))
      ++label;
    labels_.push_back(label);
  }
}

std::string FolderSource::name_of(std::int64_t index) const {
  return folder_ + "/" + files_[static_cast<std::size_t>(index)];
}

ImageShape FolderSource::shape_of(std::int64_t index) const {
  return shape_of_image_file(name_of(index));
}

Image FolderSource::read(std::int64_t index) const {
  return read_image_file(name_of(index));
}

std::string FolderSource::description() const {
  return fmt::format("folder {}", fs::path(folder_).filename().string());
}

std::vector<SourceFile> FolderSource::files(const std::vector<std::int64_t>& indices) const {
  std::vector<SourceFile> found;
  found.reserve(indices.size());
  for (const std::int64_t index : indices)
    found.push_back({name_of(index), files_[static_cast<std::size_t>(index)]});
  return found;
}

}  // namespace multicard
