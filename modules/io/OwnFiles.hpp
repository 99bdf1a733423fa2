#pragma once
/// \file What in an output folder is the program's own. Nothing else is ever removed or replaced (docs/reliability.md,
/// Files that are not the program's), and everything that removes or replaces outputs asks here.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace multicard {

/// The mark of a folder that the program has made or filled.
inline constexpr const char* kFolderMark = ".multicard";
inline constexpr std::string_view kHdf5Start = "\x89HDF\r\n\x1a\n";

/// Whether `folder` carries the mark. A link to a folder counts as that folder.
bool is_marked(const std::string& folder);
/// Makes the folder where it is missing, and marks it. \throws DataError
void mark_folder(const std::string& folder);

/// The target of `path` where that is a link, followed to its end; the target need not exist. Any other path unchanged.
/// \throws DataError for a loop of links
std::string end_of_links(const std::string& path);

/// Whether anything has that name, be it a link that leads nowhere.
bool is_taken(const std::string& path);
/// A regular file, or a folder, of that name itself: no link to one.
bool is_plain_file(const std::string& path);
bool is_plain_folder(const std::string& path);

/// Whether a regular file, perhaps through links, begins with `start` and has `word` in its first or last MiB, where
/// libhdf5 puts attributes. Reads bytes alone: no library has to parse what may be anything.
bool content_says(const std::string& path, std::string_view start, std::string_view word);

/// The names in a folder except its mark, sorted; empty where the folder does not exist.
std::vector<std::string> names_in(const std::string& folder);

/// The folder that `path` is in: "." where it names none.
std::filesystem::path folder_of(const std::filesystem::path& path);

/// A name that no other running process chooses, in the folder of `final_path`: .NAME.HOST-PID-N.part
std::string temporary_path(const std::string& final_path);

struct TemporaryName {
  std::string final_name, host;
  std::int64_t process = 0;
};
std::optional<TemporaryName> parse_temporary(std::string_view name);
/// Whether `path` is a file of a temporary_path() by its name and by the beginning of its content, or a folder of one
/// that is marked.
bool is_own_temporary(const std::string& path);

/// Removes a regular file; anything else of that name stays. \returns whether it is gone
bool remove_own_file(const std::string& path);
/// Removes the files in `folder` that `is_own` names (it gets their paths), its mark when nothing else is left, and
/// then the folder, but for one that is reached through a link. What is not the program's stays, and with it the
/// folder.
void remove_own_files(const std::string& folder, const std::function<bool(const std::string&)>& is_own);
/// Removes a folder and all that is in it. For those of a temporary_path(), made by this process or marked.
void remove_own_folder(const std::string& folder);

/// \throws UsageError that names what the program did not write
/// \param role what it would be used as, such as "the results"
[[noreturn]] void refuse_foreign(const std::string& path, const std::string& role);
/// For a folder that the program is to fill. \param is_own decides for a path in it \throws UsageError where it is no
/// folder, or has no mark, something in it, and nothing that is the program's
void require_own_folder(const std::string& folder, const std::string& role,
                        const std::function<bool(const std::string&)>& is_own);
/// \throws UsageError where something of that name is not the file that `is_own` knows
void require_own_file(const std::string& path, const std::string& role,
                      const std::function<bool(const std::string&)>& is_own);

}  // namespace multicard
