// Other names for a model's tensors: of the embeddings and the output layer, which may be one matrix, and those of
// files without an output layer.

#include <algorithm>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "state/ModelFolder.hpp"
#include "state/WeightKeys.hpp"

namespace multicard {

std::optional<std::string> ModelFolder::stored_name(const std::string& name, OutputLayer output) const {
  if (places_.contains(name)) return name;
  // Programs that store a tensor once under one of its two names say so here; no others are one tensor in these models.
  const bool has_two_names = name == kEmbeddings || name == kHead;
  for (const auto& [file_name, file] : files_) {
    if (!has_two_names) break;
    const auto& metadata = file->file().metadata();
    const auto same = metadata.find(name);
    if (same != metadata.end() && places_.contains(same->second)) return same->second;
  }
  if (output == OutputLayer::tied && name == kEmbeddings && places_.contains(kHead)) return kHead;
  return std::nullopt;
}

bool ModelFolder::add_base_prefix() {
  // A model saved without its output layer has all its names without "model."; a file with both kinds is neither.
  const auto has_prefix = [](const auto& place) { return place.first.starts_with("model."); };
  const auto lacks_it = [](const auto& place) { return with_base_prefix(place.first) != place.first; };
  if (std::none_of(places_.begin(), places_.end(), lacks_it) || std::any_of(places_.begin(), places_.end(), has_prefix))
    return false;
  std::map<std::string, Place> places;
  for (auto& [name, file] : files_)
    file->rename(with_base_prefix);
  for (const auto& [name, place] : places_)
    places[with_base_prefix(name)] = place;
  places_ = std::move(places);
  return true;
}

void ModelFolder::require_one_matrix() const {
  const auto embeddings = places_.find(kEmbeddings), head = places_.find(kHead);
  if (embeddings == places_.end() || head == places_.end()) return;
  const SafetensorsEntry &one = *embeddings->second.entry, &other = *head->second.entry;
  const bool is_same =
      one.dtype == other.dtype && one.shape == other.shape && std::ranges::equal(one.bytes, other.bytes);
  // Comparing has read both matrices, the largest of a model, into this process.
  SafetensorsFile::give_back(one.bytes);
  SafetensorsFile::give_back(other.bytes);
  if (!is_same)
    throw DataError(fmt::format("{} has an {} that is not {}", folder_, kHead, kEmbeddings),
                    "config.json says that they are one matrix (tie_word_embeddings)",
                    "Set tie_word_embeddings to false there to use both, as transformers does, or remove the former.");
}

}  // namespace multicard
