#include "io/Glob.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fnmatch.h>
#include <glob.h>

#include "base/Error.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kBetweenPaths("\0", 1);

/// Also of a link that leads nowhere: opening it is the error.
bool has_name(const std::string& path) {
  std::error_code failed;
  return fs::exists(fs::symlink_status(path, failed));
}

/// The pattern that matches `path` alone.
std::string quoted_pattern(const std::string& path) {
  std::string pattern;
  for (const char c : path) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

std::vector<std::string> matches_of(const std::string& pattern) {
  glob_t found{};
  // A folder that cannot be read has no matches, as in a shell.
  const int code = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (code == GLOB_NOSPACE) throw EnvironmentError("out of memory");
  return paths;
}

/// "/a//b*" as "/", "a//" and "b*".
std::vector<std::string> parts_of(const std::string& pattern) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < pattern.size();) {
    const std::size_t end = pattern.find_first_not_of('/', std::min(pattern.find('/', at), pattern.size()));
    parts.push_back(pattern.substr(at, end - at));
    at = std::min(end, pattern.size());
  }
  return parts;
}

/// What stands between slashes.
std::vector<std::string> names_of(const std::string& path) {
  std::vector<std::string> names = split(path, '/');
  std::erase(names, "");
  return names;
}

/// Why a file that is there may not be found.
std::string where_sought(const std::string& pattern) {
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::current_path(failed);
  return failed || pattern.starts_with('/') ? "" : fmt::format("paths are relative to {}", here.string());
}

}  // namespace

std::vector<std::string> expand_glob(const std::string& pattern) {
  std::vector<std::string> paths;
  if (!pattern.empty()) paths.emplace_back();
  // Part by part, each a name before it is a pattern; what was found stands quoted in front of the next.
  for (const std::string& part : parts_of(pattern)) {
    std::vector<std::string> longer;
    for (const std::string& path : paths) {
      const std::vector<std::string> found =
          has_name(path + part) ? std::vector{path + part} : matches_of(quoted_pattern(path) + part);
      longer.insert(longer.end(), found.begin(), found.end());
    }
    paths = std::move(longer);
  }
  if (paths.empty()) throw DataError(fmt::format("no file matches {}", pattern), where_sought(pattern));
  // Sorted as bytes, not by the locale: runs on other machines must read in the same order.
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool glob_covers(const std::string& pattern, const std::string& path) {
  const std::vector<std::string> parts = names_of(pattern), names = names_of(path);
  return std::equal(parts.begin(), parts.end(), names.begin(), names.end(),
                    [](const std::string& part, const std::string& name) {
                      return part == name || fnmatch(part.c_str(), name.c_str(), FNM_PERIOD) == 0;
                    });
}

std::string packed_paths(const std::vector<std::string>& paths) {
  return join(paths, kBetweenPaths);
}

std::vector<std::string> unpacked_paths(std::string_view text) {
  return split(text, kBetweenPaths.front());
}

}  // namespace multicard
