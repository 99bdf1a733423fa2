#include "data/ParquetSource.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "data/ImageFile.hpp"
#include "io/JsonReader.hpp"

namespace multicard {

namespace {

using json = nlohmann::ordered_json;

constexpr std::int64_t kMostClasses = 1'000'000;

/// What is meant by a column that nobody has named: the only one of its kinds, the first kind that there is.
std::string find_column(const ParquetFile& file, const std::vector<ParquetKind>& kinds, const char* what) {
  for (const ParquetKind kind : kinds) {
    std::vector<std::string> names;
    for (const ParquetColumn& column : file.columns())
      if (column.kind == kind) names.push_back(column.name);
    if (names.size() == 1) return names.front();
    for (const char* usual : {"image", "label"})
      if (std::find(names.begin(), names.end(), usual) != names.end()) return usual;
    if (!names.empty())
      throw DataError(fmt::format("{} has several columns that may hold {}", file.path(), what), join(names, ", "),
                      "Name those that are meant: --columns IMAGE,LABEL.");
  }
  std::vector<std::string> all;
  for (const ParquetColumn& column : file.columns())
    all.push_back(column.name);
  throw DataError(fmt::format("{} has no column of {}", file.path(), what),
                  fmt::format("its columns are {}", all.empty() ? "none" : join(all, ", ")));
}

void require_column(const ParquetFile& file, const std::string& name, const std::vector<ParquetKind>& kinds) {
  for (const ParquetColumn& column : file.columns())
    if (column.name == name && std::find(kinds.begin(), kinds.end(), column.kind) != kinds.end()) return;
  throw DataError(fmt::format("{} has no column {} of {}", file.path(), name,
                              kinds.front() == ParquetKind::integer ? "labels" : "images"));
}

/// What the datasets library writes: the names of a ClassLabel in the key "huggingface".
std::vector<std::string> names_in(const ParquetFile& file, const std::string& column) {
  const std::string text = file.metadata("huggingface");
  if (text.empty()) return {};
  const json facts = parse_ordered_json(text, fmt::format("the metadata of {}", file.path()));
  const json* part = &facts;
  for (const char* key : {"info", "features", column.c_str(), "names"})
    if (part) part = optional_member(*part, key);
  std::vector<std::string> names;
  if (part && part->is_array())
    for (const json& name : *part)
      if (name.is_string()) names.push_back(name.get<std::string>());
  return names;
}

const std::vector<ParquetKind> kImages{ParquetKind::image, ParquetKind::bytes}, kLabels{ParquetKind::integer};

}  // namespace

ParquetSource::ParquetSource(std::vector<std::string> files, const std::vector<std::string>& columns)
    : paths_(std::move(files)) {
  for (const std::string& path : paths_) {
    ParquetFile file(path);
    if (first_.empty()) {
      image_column_ = columns.empty() ? find_column(file, kImages, "images") : columns.at(0);
      label_column_ = columns.empty() ? find_column(file, kLabels, "labels") : columns.at(1);
      class_names_ = names_in(file, label_column_);
    }
    require_column(file, image_column_, kImages);
    require_column(file, label_column_, kLabels);
    if (names_in(file, label_column_) != class_names_)
      throw DataError(fmt::format("{} and {} have different classes", path, paths_.front()));
    first_.push_back(size());
    const std::vector<std::int64_t> labels = file.integers(label_column_);
    labels_.insert(labels_.end(), labels.begin(), labels.end());
  }
  if (!class_names_.empty() || labels_.empty()) return;
  const std::int64_t largest = *std::max_element(labels_.begin(), labels_.end());
  if (largest >= kMostClasses)
    throw DataError(fmt::format("{} has the label {}", paths_.front(), largest), "no data set has so many classes",
                    "Name the columns: --columns IMAGE,LABEL.");
  for (std::int64_t label = 0; label <= largest; ++label)
    class_names_.push_back(std::to_string(label));
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
  if (!open_ || open_->path() != paths_[file]) open_ = std::make_unique<ParquetFile>(paths_[file]);
  return open_->bytes(index - first_[file], image_column_);
}

ImageShape ParquetSource::shape_of(std::int64_t index) const {
  return shape_of_image(bytes_of(index), name_of(index));
}

Image ParquetSource::read(std::int64_t index) const {
  return decode_image(bytes_of(index), name_of(index));
}

std::string ParquetSource::description() const {
  return fmt::format("parquet ({})", counted(static_cast<std::int64_t>(paths_.size()), "file"));
}

std::vector<SourceFile> ParquetSource::files(const std::vector<std::int64_t>&) const {
  std::vector<SourceFile> found;
  for (const std::string& path : paths_)
    found.push_back({path, std::filesystem::path(path).filename().string()});
  return found;
}

}  // namespace multicard
