#include "base/HubCache.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace multicard {

namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// As huggingface_hub finds it.
fs::path cache_folder() {
  for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
    if (const std::string folder = variable(name); !folder.empty()) return folder;
  if (const std::string home = variable("HF_HOME"); !home.empty()) return fs::path(home) / "hub";
  const std::string cache = variable("XDG_CACHE_HOME");
  const fs::path above = cache.empty() ? fs::path(variable("HOME")) / ".cache" : fs::path(cache);
  return above / "huggingface" / "hub";
}

/// models--ORG--NAME
std::string folder_of(const std::string& name) {
  std::string folder = "models--" + name;
  return folder.replace(folder.find('/'), 1, "--");
}

bool is_there(const fs::path& path) {
  std::error_code unused;
  return fs::exists(path, unused);
}

}  // namespace

bool is_hub_name(const std::string& path) {
  const auto is_part = [](std::string_view part) {
    return !part.empty() && part.front() != '.' && part.front() != '-' &&
           std::all_of(part.begin(), part.end(),
                       [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; });
  };
  const std::size_t slash = path.find('/');
  if (slash == std::string::npos || path.size() > 128) return false;
  return is_part(std::string_view(path).substr(0, slash)) && is_part(std::string_view(path).substr(slash + 1));
}

std::string model_folder(const std::string& path) {
  if (!is_hub_name(path) || is_there(path)) return path;
  const fs::path model = cache_folder() / folder_of(path);
  // Hugging Face keeps a model as models--ORG--NAME/snapshots/COMMIT, and the commit of a branch in refs/BRANCH. The
  // content of that file becomes part of a path, so what could lead out of the folder is refused.
  std::string state;
  std::ifstream(model / "refs" / "main") >> state;
  const bool is_plain = !state.empty() && state.find_first_of("/.") == std::string::npos;
  const fs::path folder = model / "snapshots" / state;
  return is_plain && is_there(folder) ? folder.string() : path;
}

std::optional<std::string> hub_name_of(const std::string& folder) {
  const fs::path path = fs::path(folder + "/").parent_path();  // without slashes at its end
  const std::string model = path.parent_path().parent_path().filename().string(), prefix = "models--";
  if (path.parent_path().filename() != "snapshots" || !model.starts_with(prefix)) return std::nullopt;
  std::string name = model.substr(prefix.size());
  // The only "--" is that of the slash: the hub allows no two dashes in a row in names.
  const std::size_t dashes = name.find("--");
  if (dashes == std::string::npos) return std::nullopt;
  name.replace(dashes, 2, "/");
  return is_hub_name(name) ? std::optional(name) : std::nullopt;
}

std::string suggest_fetching(const std::string& path, const std::string& otherwise) {
  if (!is_hub_name(path) || is_there(path)) return otherwise;
  return fmt::format("{}{}If it is a model on the Hugging Face hub, fetch it first: hf download {}", otherwise,
                     otherwise.empty() ? "" : " ", path);
}

}  // namespace multicard
