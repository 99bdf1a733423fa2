#include "base/NearPath.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/Text.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator entry(folder.empty() ? "." : folder, failed), end; !failed && entry != end;
       entry.increment(failed))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());  // the same answer whatever the file system's order
  return names;
}

std::optional<std::string> near_name(const std::string& name, const std::vector<std::string>& names) {
  const auto same_stem = std::find_if(
      names.begin(), names.end(), [&](const std::string& other) { return fs::path(other).stem() == fs::path(name); });
  if (same_stem != names.end()) return *same_stem;
  constexpr std::size_t kShortest = 5;  // shorter names are near to too many others
  return name.size() < kShortest ? std::nullopt : nearest(name, names);
}

}  // namespace

std::optional<std::string> near_path(const std::string& path) {
  fs::path wanted(path);
  if (!wanted.has_filename()) wanted = wanted.parent_path();  // a slash at the end
  if (!wanted.has_filename()) return std::nullopt;
  fs::path folder = wanted.parent_path();
  std::error_code failed;
  // From the outside in: first the folder that is meant, where the file may have the name given, then the name.
  if (!folder.empty() && !fs::is_directory(folder, failed)) {
    const std::optional<std::string> meant = near_path(folder.string());
    if (!meant || !fs::is_directory(*meant, failed)) return std::nullopt;
    folder = *meant;
    if (fs::exists(folder / wanted.filename(), failed)) return (folder / wanted.filename()).string();
  }
  const std::optional<std::string> name = near_name(wanted.filename().string(), names_in(folder));
  return name ? std::optional((folder / *name).string()) : std::nullopt;
}

std::string did_you_mean(const std::string& path, const std::string& otherwise) {
  std::error_code failed;
  if (fs::exists(path, failed)) return otherwise;  // what is wrong with it is not its name
  const std::optional<std::string> meant = near_path(path);
  return meant ? "Did you mean " + *meant + "?" : otherwise;
}

}  // namespace multicard
