#include "data/shards/FileSets.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <regex>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace {

/// "train" and "00003" of train-00000-of-00003.parquet.
struct PlaceInSet {
  std::string set, count;
};

// Hub exports append a fingerprint to the name (train-00000-of-00003-1a2b3c.parquet), which differs between files of a
// set.
std::optional<PlaceInSet> place_in_set(const std::string& path) {
  static const std::regex pattern(R"((.*)-\d+-of-(\d+)(-[0-9a-f]+)?\.parquet)");
  const std::string name = std::filesystem::path(path).filename().string();
  std::smatch parts;
  if (!std::regex_match(name, parts, pattern)) return std::nullopt;
  return PlaceInSet{parts[1], parts[2]};
}

}  // namespace

// Hashes of 2 x 64 bits stand for the bytes: a collision of two different files would have to happen in both.
void RowCopies::add_bytes(const std::string& path, std::string_view labels, std::string_view ends) {
  const std::hash<std::string_view> hash;
  const auto [known, is_new] = path_of_.emplace(std::pair(hash(labels), hash(ends)), path);
  if (is_new) return;
  throw DataError(fmt::format("{} and {} hold the same rows", known->second, path),
                  "their labels, first and last images are equal",
                  "Remove the copy, or name the files to use so that it is not among them.");
}

void check_split_files(const std::vector<std::string>& paths) {
  const std::optional<PlaceInSet> first = place_in_set(paths.front());
  if (!first) return;
  std::size_t num_files = 0;
  for (const std::string& path : paths) {
    const std::optional<PlaceInSet> place = place_in_set(path);
    if (place && (place->set != first->set || place->count != first->count))
      throw DataError(fmt::format("{} and {} are of two sets", paths.front(), path), "as their names say",
                      "Name the files of one set, e.g. --images 'DIR/train-*.parquet'.");
    num_files += place ? 1 : 0;
  }
  const unsigned long whole = std::stoul(first->count);
  if (num_files < whole)
    log_warning(fmt::format("{} is one of {} files, of which {} named", paths.front(), whole,
                            num_files == 1 ? "1 is" : fmt::format("{} are", num_files)));
}

}  // namespace multicard
