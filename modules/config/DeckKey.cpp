#include "config/DeckKey.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard {

namespace {

/// Calls `reject_in(section, key)` with the section that holds `path` and the last part of it.
template <class Reject>
void at_home(Section& root, std::string_view path, const Reject& reject_in) {
  Section home = root;
  const auto parts = split(path, '.');
  for (std::size_t i = 0; i + 1 < parts.size(); ++i)
    home = home.section(parts[i]);
  reject_in(home, parts.back());
}

/// Of `path`, which `task` does not have: the outermost section that `task` does not have either, else the path.
std::string_view foreign_part(std::span<const DeckKey> keys, std::string_view path, KeyTasks task) {
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.', dot + 1)) {
    const std::string_view section = path.substr(0, dot + 1);
    const auto in_task = [&](const DeckKey& key) { return key.path.starts_with(section) && key.belongs_to(task); };
    if (std::none_of(keys.begin(), keys.end(), in_task)) return path.substr(0, dot);
  }
  return path;
}

}  // namespace

bool DeckKey::is_fixed() const {
  // What a checkpoint goes with: with other values of these its weights and moments would belong to another training.
  return notes.on_resume == OnResume::same || effect == KeyEffect::identity || effect == KeyEffect::work ||
         effect == KeyEffect::learning;
}

DeckKeys concatenated(std::initializer_list<DeckKeys> parts) {
  DeckKeys all;
  for (const DeckKeys& part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::string_view text_of(KeyTasks tasks) {
  constexpr std::string_view kTexts[] = {"any", "image", "llm"};
  return kTexts[static_cast<std::size_t>(tasks)];
}

std::string_view text_of(KeyEffect effect) {
  constexpr std::string_view kTexts[] = {"identity", "work", "learning", "speed", "bookkeeping"};
  return kTexts[static_cast<std::size_t>(effect)];
}

const DeckKey* find_key(std::span<const DeckKey> keys, std::string_view path) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const DeckKey& key) { return key.path == path; });
  return found == keys.end() ? nullptr : &*found;
}

std::vector<KnownKey> known_keys(std::span<const DeckKey> keys) {
  std::vector<KnownKey> known;
  known.reserve(keys.size());
  for (const DeckKey& key : keys)
    known.push_back({std::string(key.path),
                     key.tasks == KeyTasks::any ? std::string() : fmt::format("of task {}", text_of(key.tasks))});
  return known;
}

void reject_keys_of_other_tasks(Section& root, const Deck& deck, std::span<const DeckKey> keys, KeyTasks task) {
  for (const DeckKey& key : keys) {
    if (key.belongs_to(task)) continue;
    const std::string_view foreign = foreign_part(keys, key.path, task);
    if (deck.root().find_path(foreign) == nullptr) continue;
    // The outermost section alone is reported: `method: {...}` in a deck of images is one mistake, not many.
    at_home(root, foreign, [&](Section& home, const std::string& name) {
      if (home.has(name))  // asking also marks a key that is set to null as known
        home.reject(name, fmt::format("belongs to task {}", text_of(key.tasks)),
                    fmt::format("this deck's is {}", text_of(task)));
    });
  }
}

void reject_reserved_values(Section& root, const Deck& deck, std::span<const DeckKey> keys) {
  for (const DeckKey& key : keys) {
    const std::vector<std::string> reserved = split(key.notes.reserved, ' ');
    const std::string value = deck.get_text(key.path);
    if (value.empty() || std::find(reserved.begin(), reserved.end(), value) == reserved.end()) continue;
    at_home(root, key.path, [&](Section& home, const std::string& name) {
      if (home.has(name))
        home.reject(name, fmt::format("{} is not available in this version", value),
                    fmt::format("available: {}", join(split(key.notes.available, ' '), ", ")));
    });
  }
}

}  // namespace multicard
