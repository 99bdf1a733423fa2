#include "share/ArrivalFolder.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "io/OwnFiles.hpp"

namespace multicard {

namespace {

namespace fs = std::filesystem;

// Hidden files are left out: editors and copying tools write under such a name and rename at the end. The order of
// names decides which task comes first, and must not be that of the file system.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;  // a folder that cannot be read now may be read later
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed))
    if (entry->path().extension() == ".yaml" && entry->path().filename().string().front() != '.')
      files.push_back(entry->path().string());
  std::sort(files.begin(), files.end());
  return files;
}

/// Ignores errors: a file that was removed meanwhile is gone as wanted, and a folder that cannot be written keeps
/// its files. A name that is taken is followed by a number.
void rename_to(const std::string& file, const std::string& suffix) {
  std::string name = file + suffix;
  for (int number = 1; is_taken(name); ++number)
    name = fmt::format("{}{}.{}", file, suffix, number);
  std::error_code ignored;
  fs::rename(file, name, ignored);
}

}  // namespace

std::vector<ShareArrival> ArrivalFolder::find(const ShareOptions& options, const ShareRecord& known) {
  std::vector<ShareArrival> found;
  if (!folder_) return found;
  ShareOptions so_far = options;  // no two tasks of a name
  for (const ShareArrival& arrival : known.arrivals) {
    so_far.tasks.emplace_back();
    so_far.tasks.back().name = arrival.name;
  }
  for (const std::string& file : files_in(*folder_)) {
    try {
      const Deck entry = load_arrival(file);
      const std::string text = entry.to_yaml();
      // In the record and still under its old name: an earlier launch was killed between writing the record and
      // renaming. Both the name and the text must be the same, because a name may be used again for another task.
      const auto is_it = [&](const ShareArrival& arrival) { return arrival.file == file && arrival.entry == text; };
      if (std::any_of(known.arrivals.begin(), known.arrivals.end(), is_it)) {
        rename_to(file, ".claimed");
        continue;
      }
      std::vector<std::string> unused;
      so_far.tasks.push_back(read_arrival(entry, so_far, unused));
      found.push_back({so_far.tasks.back().name, file, text});
    } catch (const Error& error) {
      const std::string warning = fmt::format("the task of {} is not taken: {}", file, error.what());
      if (warned_.insert(warning).second) log_warning(warning);
      rename_to(file, ".refused");
    }
  }
  return found;
}

void ArrivalFolder::claim(const std::vector<ShareArrival>& arrivals) {
  for (const ShareArrival& arrival : arrivals)
    rename_to(arrival.file, ".claimed");
}

}  // namespace multicard
