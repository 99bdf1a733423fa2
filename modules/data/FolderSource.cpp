#include "data/FolderSource.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "data/ImageFile.hpp"

namespace multicard {

namespace {

namespace fs = std::filesystem;

/// No file name holds it.
constexpr char kSeparator = '\0';

bool is_number(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool less_as_number(const std::string& a, const std::string& b) {
  const auto digits = [](const std::string& name) {
    return name.substr(std::min(name.find_first_not_of('0'), name.size()));
  };
  const std::string x = digits(a), y = digits(b);
  if (x.size() != y.size()) return x.size() < y.size();
  return x != y ? x < y : a < b;
}

bool is_picture(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

/// Sorted names of the entries of a folder that `wanted` accepts.
template <class Wanted>
std::vector<std::string> names_in(const fs::path& folder, Wanted&& wanted) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with('.') && wanted(*entry)) names.push_back(name);
  }
  if (error) throw DataError(fmt::format("the folder {} cannot be read", folder.string()), error.message());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> list_classes(const std::string& folder) {
  std::vector<std::string> classes = names_in(folder, [](const auto& entry) { return entry.is_directory(); });
  if (classes.empty())
    throw DataError(fmt::format("{} holds no folders", folder), "every class needs one, named after it",
                    fmt::format("Sort the pictures into {}/CLASS/.", folder));
  if (std::all_of(classes.begin(), classes.end(), is_number)) std::sort(classes.begin(), classes.end(), less_as_number);
  return classes;
}

std::vector<std::string> list_pictures(const std::string& folder, const std::string& class_name) {
  std::vector<std::string> files = names_in(fs::path(folder) / class_name, [](const auto& entry) {
    return is_picture(entry.path()) && entry.is_regular_file();
  });
  if (files.empty())
    throw DataError(fmt::format("{}/{} holds no pictures", folder, class_name), "",
                    "Put *.jpg, *.jpeg or *.png files there or remove the folder.");
  for (std::string& file : files)
    file = class_name + "/" + file;
  return files;
}

}  // namespace

FolderSource::FolderSource(const std::string& folder, const Communicator& communicator)
    : folder_(folder.substr(0, std::max<std::size_t>(1, folder.find_last_not_of('/') + 1))) {
  std::vector<std::string> pictures;
  agreed(communicator, [&] {
    if (!communicator.is_root()) return;
    class_names_ = list_classes(folder_);
    for (const std::string& name : class_names_)
      for (std::string& file : list_pictures(folder_, name))
        pictures.push_back(std::move(file));
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
