#include "prepare/images/FolderListing.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "prepare/images/ImageFormats.hpp"

namespace multicard {

namespace {

namespace fs = std::filesystem;

constexpr const char* kNested = "in folders inside the folders of classes";
constexpr const char* kAmong = "among the folders of classes";
constexpr const char* kHidden = "with names that start with a dot, or in such folders";
constexpr const char* kMetadata = "of the datasets library";
constexpr const char* kMetadataNote = "labels in them are not read: the folders are the classes";

bool is_number(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

// As texts: numbers of any length are compared, by length without leading zeros and then digit by digit. Class folders
// 0 to 10 must get the labels 0 to 10, not the order 0, 1, 10, 2.
bool less_as_number(const std::string& a, const std::string& b) {
  const auto digits = [](const std::string& name) {
    return name.substr(std::min(name.find_first_not_of('0'), name.size()));
  };
  const std::string x = digits(a), y = digits(b);
  if (x.size() != y.size()) return x.size() < y.size();
  return x != y ? x < y : a < b;
}

bool is_picture(const std::string& name) {
  const ForeignKey* ending = find_ending(name);
  return ending && ending->use == KeyUse::used;
}

/// Read here or elsewhere.
bool may_be_picture(const std::string& name) {
  const ForeignKey* ending = find_ending(name);
  return ending && ending->use != KeyUse::harmless;
}

/// A picture could have it; README and LICENSE have none.
bool has_unknown_ending(const std::string& name) {
  return fs::path(name).has_extension() && !find_ending(name);
}

/// Files whose labels the datasets library uses in the place of the folders' names.
bool is_metadata(const std::string& name) {
  return name == "metadata.csv" || name == "metadata.jsonl" || name == "metadata.parquet";
}

[[noreturn]] void throw_unreadable(const fs::path& folder, const std::error_code& error) {
  throw DataError(fmt::format("the folder {} cannot be read", folder.string()), error.message());
}

struct Entry {
  std::string name;
  fs::file_type type;  ///< of what a link names; not_found where that is nothing

  bool is_hidden() const { return name.starts_with('.'); }
  bool is_folder() const { return type == fs::file_type::directory; }
  bool is_gone() const { return type == fs::file_type::not_found || type == fs::file_type::none; }
};

// Sorted by bytes: the order in which a file system lists names differs between machines, and labels and rows follow
// it.
std::vector<Entry> entries_of(const fs::path& folder) {
  std::vector<Entry> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code broken;  // also of a link that leads to itself
    entries.push_back({entry->path().filename().string(), entry->status(broken).type()});
  }
  if (error) throw_unreadable(folder, error);
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
  return entries;
}

}  // namespace

FolderListing::FolderListing(const std::string& folder) : folder_(folder) {
  list_classes();
  for (const std::string& name : classes_)
    list_pictures(name);
}

// Whatever could be a picture and is not read is counted and said: a wrongly nested folder would otherwise lose a part
// of the data silently. A link to nothing may be a class on a disk that is not mounted, and is an error.
void FolderListing::list_classes() {
  for (const Entry& entry : entries_of(folder_)) {
    if (entry.is_folder()) {
      if (entry.is_hidden())
        note_pictures_in(entry.name, kHidden);
      else
        classes_.push_back(entry.name);
    } else if (is_metadata(entry.name)) {
      note(kMetadata, entry.name, kMetadataNote);
    } else if (may_be_picture(entry.name) ||
               (!entry.is_hidden() && !entry.is_gone() && has_unknown_ending(entry.name))) {
      note(entry.is_hidden() ? kHidden : kAmong, entry.name);
    } else if (entry.is_gone() && !entry.is_hidden()) {
      throw DataError(fmt::format("{}/{} is a link to nothing", folder_, entry.name), "it may have been a class",
                      "Put back the folder that it names, or remove the link.");
    }
  }
  if (classes_.empty())
    throw DataError(fmt::format("{} holds no folders", folder_), "every class needs one, named after it",
                    fmt::format("Sort the pictures into {}/CLASS/.", folder_));
  if (std::all_of(classes_.begin(), classes_.end(), is_number))
    std::sort(classes_.begin(), classes_.end(), less_as_number);
}

void FolderListing::list_pictures(const std::string& class_name) {
  const std::size_t before = pictures_.size();
  for (const Entry& entry : entries_of(fs::path(folder_) / class_name)) {
    const std::string name = class_name + "/" + entry.name;
    if (entry.is_folder())
      note_pictures_in(name, entry.is_hidden() ? kHidden : kNested);
    else if (!entry.is_hidden() && is_picture(entry.name))
      pictures_.push_back(name);
    else if (!entry.is_hidden())
      note_file(name);
    else if (may_be_picture(entry.name))
      note(kHidden, name);
  }
  if (pictures_.size() == before) throw_empty(class_name);
}

void FolderListing::note_file(const std::string& name) {
  if (is_metadata(fs::path(name).filename().string())) return note(kMetadata, name, kMetadataNote);
  const ForeignKey* ending = find_ending(name);
  if (!ending)
    note("with names that do not end in .jpg, .jpeg or .png", name);
  else if (ending->use == KeyUse::unsupported)
    note(fmt::format("*{}", ending->name), name, ending->note);
}

void FolderListing::note_pictures_in(const std::string& name, const std::string& kind) {
  std::vector<std::string> found;
  const fs::path root = fs::path(folder_) / name;
  // Hidden folders are not read anyway: one without permission is passed over, others are errors.
  const auto of_unreadable =
      kind == kHidden ? fs::directory_options::skip_permission_denied : fs::directory_options::none;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(root, of_unreadable, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code broken;
    const std::string file = entry->path().filename().string();
    if (!entry->is_directory(broken) && (may_be_picture(file) || (kind != kHidden && has_unknown_ending(file))))
      found.push_back(name + "/" + entry->path().lexically_relative(root).string());
  }
  if (error) throw_unreadable(root, error);
  std::sort(found.begin(), found.end());
  for (const std::string& picture : found)
    note(kind, picture);
}

void FolderListing::note(const std::string& kind, const std::string& name, const std::string& advice) {
  constexpr std::size_t kMostNames = 3;
  Names& names = left_out_[kind];
  ++names.count;
  names.advice = advice;
  if (names.first.size() < kMostNames) names.first.push_back(name);
}

void FolderListing::throw_empty(const std::string& class_name) const {
  std::vector<std::string> kinds;
  for (const auto& [kind, names] : left_out_)
    if (names.first.front().starts_with(class_name + "/"))
      kinds.push_back(fmt::format("{} {}", counted(names.count, "file"), kind));
  throw DataError(
      fmt::format("{}/{} holds no pictures", folder_, class_name),
      kinds.empty() ? "" : fmt::format("what it holds is left out: {}", join(kinds, ", ")),
      left_out_.contains(kNested)
          ? fmt::format("Remove the folder, or name the one that holds the classes: --dir {}/{}.", folder_, class_name)
          : "Put *.jpg, *.jpeg or *.png files there or remove the folder.");
}

std::string FolderListing::left_out() const {
  std::int64_t count = 0;
  std::string lines;
  for (const auto& [kind, names] : left_out_) {
    count += names.count;
    const auto num_more = names.count - static_cast<std::int64_t>(names.first.size());
    lines += fmt::format("\n  {} {}: {}{}{}", grouped(names.count), kind, join(names.first, ", "),
                         num_more == 0 ? "" : fmt::format(" and {} more", grouped(num_more)),
                         names.advice.empty() ? "" : fmt::format(" ({})", names.advice));
  }
  if (count == 0) return "";
  return fmt::format("{} of {} {} left out:{}", counted(count, "file"), folder_, count == 1 ? "is" : "are", lines);
}

}  // namespace multicard
