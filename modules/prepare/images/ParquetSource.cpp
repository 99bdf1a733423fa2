#include "prepare/images/ParquetSource.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "data/shards/FileSets.hpp"
#include "prepare/images/ImageFile.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kMostClasses = 1'000'000;

/// \throws DataError
std::vector<std::string> numbered_classes(const std::vector<std::int64_t>& labels, const std::string& path) {
  const std::int64_t largest = *std::max_element(labels.begin(), labels.end());
  if (largest >= kMostClasses)
    throw DataError(fmt::format("{} has the label {}", path, largest), "no data set has as many classes",
                    "Name the columns: --columns IMAGE,LABEL.");
  std::vector<std::string> names;
  for (std::int64_t label = 0; label <= largest; ++label)
    names.push_back(std::to_string(label));
  return names;
}

}  // namespace

// The first file decides which columns are meant; all others must have them under the same names. Labels of all files
// are read here, pictures when they are asked for.
ParquetSource::ParquetSource(std::vector<std::string> files, const std::vector<std::string>& columns)
    : paths_(std::move(files)) {
  check_split_files(paths_);
  RowCopies copies;
  for (const std::string& path : paths_) {
    ParquetFile file(path);
    std::vector<std::string> named = columns;
    if (first_.empty()) {
      columns_ = find_image_columns(file, columns);
      class_names_ = stored_class_names(file, columns_.label);
      log_info(fmt::format("{:<10}images of {}, labels of {}", "columns", columns_.image, columns_.label));
      if (!columns_.unused.empty())
        log_warning(fmt::format("{} has columns that are not read: {}", path, join(columns_.unused, ", ")));
    } else {
      named = {columns_.image, columns_.label};
    }
    find_image_columns(file, named);
    if (stored_class_names(file, columns_.label) != class_names_)
      throw DataError(fmt::format("{} and {} have different classes", path, paths_.front()),
                      "their metadata name others, or one has none",
                      "Name the files of one set, or write them again with the same ClassLabel.");
    first_.push_back(size());
    const std::vector<std::int64_t> labels = file.integers(columns_.label);
    if (!labels.empty()) {
      const std::string first = file.bytes(0, columns_.image);
      copies.add(path, labels, first + file.bytes(file.num_rows() - 1, columns_.image));
    }
    labels_.insert(labels_.end(), labels.begin(), labels.end());
  }
  if (class_names_.empty() && !labels_.empty()) class_names_ = numbered_classes(labels_, paths_.front());
}

std::size_t ParquetSource::file_of(std::int64_t index) const {
  return static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), index) - first_.begin()) - 1;
}

std::string ParquetSource::name_of(std::int64_t index) const {
  const std::size_t file = file_of(index);
  return fmt::format("row {} of {}", index - first_[file] + 1, paths_[file]);
}

std::string ParquetSource::bytes_of(std::int64_t index) const {
  const std::size_t file = file_of(index);
  // One file is kept open: images are read in ascending order, and opening means reading the footer with all of its
  // metadata.
  if (!open_ || open_->path() != paths_[file]) open_ = std::make_unique<ParquetFile>(paths_[file]);
  return open_->bytes(index - first_[file], columns_.image);
}

ImageShape ParquetSource::shape_of(std::int64_t index) const {
  return shape_of_image(bytes_of(index), name_of(index));
}

Image ParquetSource::read(std::int64_t index) const {
  return decode_image(bytes_of(index), name_of(index));
}

std::string ParquetSource::description() const {
  return fmt::format("parquet ({}, columns {} and {})", counted(static_cast<std::int64_t>(paths_.size()), "file"),
                     columns_.image, columns_.label);
}

std::vector<SourceFile> ParquetSource::files(const std::vector<std::int64_t>&) const {
  std::vector<SourceFile> found;
  for (const std::string& path : paths_)
    found.push_back({path, std::filesystem::path(path).filename().string()});
  return found;
}

}  // namespace multicard
