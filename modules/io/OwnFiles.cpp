#include "io/OwnFiles.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "base/System.hpp"
#include "comm/AbortRemovals.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kMarkText =
    "multicard keeps files in this folder. It removes and replaces those that it has written, and no others.\n";
constexpr std::string_view kMarkStart = "multicard keeps files in this folder.";
constexpr int kMostLinks = 40;
constexpr std::size_t kLookedAt = std::size_t{1} << 20;  // bytes at either end of a file

std::string first_bytes(const std::string& path, std::size_t most) {
  if (why_unreadable(path)) return {};
  RegularFile file(path);
  std::string bytes(most, '\0');
  bytes.resize(file.read(bytes.data(), most));
  return bytes;
}

std::string last_bytes(const std::string& path, std::size_t most) {
  const RegularFile file(path);
  std::string bytes(std::min<std::uint64_t>(most, file.size()), '\0');
  const ssize_t count =
      pread(file.descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(file.size() - bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
  return bytes;
}

fs::file_type own_type(const std::string& path) {
  std::error_code error;
  return fs::symlink_status(path, error).type();
}

/// Takes "-DIGITS" from the end of `name`.
std::optional<std::int64_t> take_number(std::string_view& name) {
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  std::int64_t number = 0;
  const char *const begin = name.data() + dash + 1, *const end = name.data() + name.size();
  if (const auto parsed = std::from_chars(begin, end, number); parsed.ec != std::errc() || parsed.ptr != end)
    return std::nullopt;
  name.remove_suffix(name.size() - dash);
  return number;
}

/// How files begin, by their endings. Those of other endings are removed by those who know what is in them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kStarts{{{".h5", kHdf5Start},
                                                                                 {".json", "{"},
                                                                                 {".jsonl", "{"},
                                                                                 {".failed", "{"},
                                                                                 {"BEST", "{"},
                                                                                 {".svg", "<svg"},
                                                                                 {".html", "<!DOCTYPE html>"},
                                                                                 {".pdf", "%PDF"},
                                                                                 {".csv", "file,"},
                                                                                 {".csv", "study,"},
                                                                                 {".gz", "\x1f\x8b"},
                                                                                 {".prom", "# HELP multicard_"},
                                                                                 {".running", ""},
                                                                                 {".sha256", ""}}};

/// A file that is half written says little, but it begins like a whole one.
bool begins_as(const std::string& name, const std::string& bytes) {
  if (bytes.empty()) return true;
  // The start of an HDF5 file is written last, and the space of a time line is reserved first: the system shows zeros.
  const bool may_be_empty = name.ends_with(".h5") || name.ends_with(".gz");
  if (may_be_empty && bytes.find_first_not_of('\0') == std::string::npos) return true;
  constexpr std::size_t kHeaderLength = 8;  // bytes of safetensors before the header
  if (name.ends_with(".safetensors")) return bytes.size() <= kHeaderLength || bytes[kHeaderLength] == '{';
  if (name.ends_with(".running") || name.ends_with(".sha256"))
    return bytes.find_first_not_of("0123456789abcdef") == std::string::npos;
  return std::any_of(kStarts.begin(), kStarts.end(), [&](const auto& known) {
    return name.ends_with(known.first) && bytes.starts_with(known.second.substr(0, bytes.size()));
  });
}

/// Where the final name ends in "NAME.HOST", both of which may have dots. On this host that is known; else the first
/// ending that the program gives counts.
std::size_t end_of_name(std::string_view text) {
  const std::string own = "." + host_name();
  if (text.ends_with(own)) return text.size() - own.size();
  for (std::size_t dot = text.find('.'); dot != std::string_view::npos; dot = text.find('.', dot + 1))
    if (std::any_of(kStarts.begin(), kStarts.end(),
                    [&](const auto& known) { return text.substr(0, dot).ends_with(known.first); }))
      return dot;
  return text.find('.');
}

}  // namespace

bool is_marked(const std::string& folder) {
  const std::string mark = (fs::path(folder) / kFolderMark).string();
  return is_plain_file(mark) && first_bytes(mark, kMarkStart.size()) == kMarkStart;
}

void mark_folder(const std::string& folder) {
  const CreationGuard guard;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error && !is_folder(folder))
    throw DataError(fmt::format("the folder {} cannot be created", folder), error.message());
  const std::string mark = (fs::path(folder) / kFolderMark).string();
  if (is_taken(mark)) return;  // also another's: it is not needed that much
  std::ofstream file(mark, std::ios::binary);
  file << kMarkText;
  file.close();
  if (!file) fs::remove(mark, error);  // a full disk: the content of the files identifies them too
}

std::string end_of_links(const std::string& path) {
  fs::path end = path;
  for (int followed = 0; own_type(end.string()) == fs::file_type::symlink; ++followed) {
    std::error_code error;
    const fs::path next = fs::read_symlink(end, error);
    if (error || followed == kMostLinks)
      throw DataError(fmt::format("{} cannot be written", path), error ? error.message() : "it is a loop of links");
    // A relative target is seen from the folder of its link; an absolute one takes the place of all before it.
    end = folder_of(end) / next;
  }
  return end.string();
}

bool is_taken(const std::string& path) {
  return own_type(path) != fs::file_type::not_found;
}

bool is_plain_file(const std::string& path) {
  return own_type(path) == fs::file_type::regular;
}

bool is_plain_folder(const std::string& path) {
  return own_type(path) == fs::file_type::directory;
}

bool content_says(const std::string& path, std::string_view start, std::string_view word) {
  const std::string first = first_bytes(path, kLookedAt);
  if (!first.starts_with(start)) return false;
  return first.find(word) != std::string::npos || last_bytes(path, kLookedAt).find(word) != std::string::npos;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (std::string name = entry->path().filename().string(); name != kFolderMark) names.push_back(std::move(name));
  std::sort(names.begin(), names.end());
  return names;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

std::string temporary_path(const std::string& final_path) {
  // Host and process make the name unique among processes, the counter within one. A name may still be taken by what a
  // killed process of the same number has left.
  static std::atomic<int> counter = 0;
  const fs::path path(final_path);
  std::string chosen;
  do {
    const std::string own = fmt::format("{}-{}-{}", host_name(), getpid(), counter++);
    chosen = (folder_of(path) / fmt::format(".{}.{}.part", path.filename().string(), own)).string();
  } while (is_taken(chosen));
  return chosen;
}

std::optional<TemporaryName> parse_temporary(std::string_view name) {
  constexpr std::string_view kEnding = ".part";
  if (!name.starts_with(".") || !name.ends_with(kEnding)) return std::nullopt;
  name.remove_prefix(1);
  name.remove_suffix(kEnding.size());
  const std::optional<std::int64_t> counter = take_number(name), process = take_number(name);
  const std::size_t end = end_of_name(name);
  if (!counter || !process || end == std::string_view::npos || end == 0) return std::nullopt;
  return TemporaryName{std::string(name.substr(0, end)), std::string(name.substr(end + 1)), *process};
}

bool is_own_temporary(const std::string& path) {
  const std::optional<TemporaryName> name = parse_temporary(fs::path(path).filename().string());
  if (!name) return false;
  if (is_plain_folder(path)) return is_marked(path);
  return is_plain_file(path) && begins_as(name->final_name, first_bytes(path, 16));
}

bool remove_own_file(const std::string& path) {
  std::error_code error;
  return is_plain_file(path) && fs::remove(path, error) && !error;
}

void remove_own_files(const std::string& folder, const std::function<bool(const std::string&)>& is_own) {
  for (const std::string& name : names_in(folder))
    if (const std::string path = (fs::path(folder) / name).string(); is_own(path)) remove_own_file(path);
  if (!names_in(folder).empty() || !is_plain_folder(folder)) return;
  if (is_marked(folder)) remove_own_file((fs::path(folder) / kFolderMark).string());
  // Removes an empty folder only: what another process has put there in the meantime stays.
  rmdir(folder.c_str());
}

void remove_own_folder(const std::string& folder) {
  std::error_code ignored;
  if (is_plain_folder(folder)) fs::remove_all(folder, ignored);
}

void refuse_foreign(const std::string& path, const std::string& role) {
  throw UsageError(fmt::format("{} was not written by multicard", path),
                   fmt::format("it stands where {} would be", role),
                   "Set another run.output, or move it away: nothing of yours is removed or replaced.");
}

void require_own_folder(const std::string& folder, const std::string& role,
                        const std::function<bool(const std::string&)>& is_own) {
  if (!is_taken(folder)) return;
  if (!is_folder(folder)) {
    if (own_type(folder) == fs::file_type::symlink && !is_there(folder))
      throw UsageError(fmt::format("{} is a link that leads nowhere", folder), fmt::format("{} would be there", role),
                       "Make the folder that it names, or remove the link.");
    refuse_foreign(folder, role);
  }
  if (is_marked(folder)) return;
  // A folder whose mark could not be written is known by one file of ours in it.
  const std::vector<std::string> names = names_in(folder);
  const auto path_of = [&](const std::string& name) { return (fs::path(folder) / name).string(); };
  const bool is_known =
      std::any_of(names.begin(), names.end(), [&](const std::string& name) { return is_own(path_of(name)); });
  // A mark that is none (a folder of that name, another text) makes even an empty folder another's.
  const bool has_any_mark = is_taken(path_of(kFolderMark));
  if (!is_known && (!names.empty() || has_any_mark))
    refuse_foreign(path_of(names.empty() ? kFolderMark : names.front()), "only " + role);
}

void require_own_file(const std::string& path, const std::string& role,
                      const std::function<bool(const std::string&)>& is_own) {
  if (!is_taken(path)) return;
  if (!is_taken(end_of_links(path))) return;  // a link to a file that is still to be made
  if (is_own(path)) return;
  if (const auto why = why_unreadable(path); why && !is_folder(path))  // whose it is cannot be told
    throw UsageError(fmt::format("{} cannot be read", path), *why, "Set another run.output, or let multicard read it.");
  refuse_foreign(path, role);
}

}  // namespace multicard
