#include "data/shards/ClassNames.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "io/Sha256.hpp"

namespace multicard {

namespace {

using json = nlohmann::json;

constexpr std::int32_t kUnknown = -1;

/// The first few.
std::string list_of(std::vector<std::string> names) {
  constexpr std::size_t kMostNames = 5;
  const std::size_t num_names = names.size();
  names.resize(std::min(num_names, kMostNames));
  return join(names, ", ") + (num_names > kMostNames ? fmt::format(" and {} more", num_names - kMostNames) : "");
}

}  // namespace

std::string text_of_classes(const std::vector<std::string>& names) {
  return json(names).dump();
}

std::vector<std::string> classes_of_text(const std::string& text) {
  const json list = json::parse(text, nullptr, false);
  std::vector<std::string> names;
  if (list.is_array())
    for (const json& name : list)
      if (name.is_string()) names.push_back(name.get<std::string>());
  return names;
}

// The byte order is written out, so that the digest in a shard is the same on every machine.
std::string digest_of_labels(std::span<const std::int32_t> labels) {
  std::string bytes;
  bytes.reserve(sizeof(std::int32_t) * labels.size());
  for (const std::int32_t label : labels)
    for (const int shift : {0, 8, 16, 24})
      bytes.push_back(static_cast<char>(static_cast<std::uint32_t>(label) >> shift));
  return sha256(bytes);
}

void map_labels(std::span<std::int32_t> labels, const std::vector<std::string>& found,
                const std::vector<std::string>& wanted, const std::string& files) {
  std::vector<std::int32_t> places;
  for (const std::string& name : found) {
    const auto place = std::find(wanted.begin(), wanted.end(), name);
    const bool is_known = place != wanted.end() && std::find(place + 1, wanted.end(), name) == wanted.end();
    places.push_back(is_known ? static_cast<std::int32_t>(place - wanted.begin()) : kUnknown);
  }
  std::vector<bool> is_missed(found.size());
  for (std::int32_t& label : labels) {
    const auto before = static_cast<std::size_t>(label);
    label = places[before];
    is_missed[before] = label == kUnknown;
  }
  std::vector<std::string> missed;
  for (std::size_t label = 0; label < found.size(); ++label)
    if (is_missed[label]) missed.push_back(found[label]);
  if (missed.empty()) return;
  throw DataError(fmt::format("{} has images of classes that the model does not know: {}", files, list_of(missed)),
                  fmt::format("it was trained on {}", list_of(wanted)),
                  "Prepare them with the names of the training: rename the folders, or give --class-names.")
      .on_all_ranks();
}

}  // namespace multicard
