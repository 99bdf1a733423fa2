#include "config/KeySuggestion.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "config/ForeignNames.hpp"

namespace multicard {

namespace {

bool has(const std::vector<std::string>& keys, const std::string& key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

std::optional<std::string> among_read(const KeysBySection& read, const std::string& section, const std::string& key) {
  // Names of other programs before similar ones: `r` or `lr` resembles many keys, and means one. Only keys that were
  // read count here, so that no key is suggested that this deck could not have.
  if (const std::optional<std::string> own = own_key(key)) {
    const std::size_t dot = own->rfind('.');
    const std::string home = dot == std::string::npos ? "" : own->substr(0, dot), name = own->substr(dot + 1);
    const auto keys = read.find(home);
    if (keys != read.end() && has(keys->second, name)) return home == section ? name : *own;
  }
  if (std::optional<std::string> near = nearest(key, read.at(section))) return near;
  for (const auto& [other, keys] : read)
    if (has(keys, key)) return other + "." + key;
  return std::nullopt;
}

std::optional<std::string> among(const std::vector<KnownKey>& table, const std::string& section,
                                 const std::string& key) {
  const std::string prefix = section.empty() ? "" : section + ".";
  const auto with_note = [](const std::string& name, const std::string& note) {
    return note.empty() ? name : fmt::format("{} ({})", name, note);
  };
  std::vector<std::string> names;
  for (const KnownKey& one : table)
    if (one.path.starts_with(prefix)) names.push_back(one.path.substr(prefix.size()));
  const std::optional<std::string> near = nearest(key, names);
  for (const KnownKey& one : table)
    if (near && one.path == prefix + *near) return with_note(*near, one.note);
  for (const KnownKey& one : table)
    if (one.path.ends_with("." + key)) return with_note(one.path, one.note);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> suggested_key(const KeysBySection& read, const std::vector<KnownKey>& table,
                                         const std::string& section, const std::string& key) {
  if (std::optional<std::string> found = among_read(read, section, key)) return found;
  return among(table, section, key);
}

std::optional<std::string> suggested_for_section(const KeysBySection& read, const std::vector<std::string>& keys) {
  const auto with_path = [&](const std::string& key) -> std::optional<std::string> {
    for (const auto& [section, known] : read)
      if (!section.empty() && has(known, key)) return section + "." + key;
    return std::nullopt;
  };
  for (const std::string& key : keys) {
    const std::optional<std::string> own = own_key(key);
    const std::string name = own ? own->substr(own->rfind('.') + 1) : key;
    std::optional<std::string> found = with_path(name);
    if (found && (!own || *own == *found)) return found;
  }
  return std::nullopt;
}

}  // namespace multicard
