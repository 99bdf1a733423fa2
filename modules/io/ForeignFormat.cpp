#include "io/ForeignFormat.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Log.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace {

/// What becomes of a key.
const char* words_of(KeyUse use, const ForeignFormat& format) {
  switch (use) {
    case KeyUse::used:
      return "used";
    case KeyUse::harmless:
      return "left out";
    case KeyUse::named:
      return "named";
    case KeyUse::unsupported:
      break;
  }
  return format.unsupported;
}

/// Calls `line` for each key, by use.
template <class Line>
void for_each_key(const ForeignFormat& format, Line&& line) {
  for (const KeyUse use : {KeyUse::used, KeyUse::unsupported, KeyUse::named, KeyUse::harmless})
    for (const std::span<const ForeignKey> keys : format.keys)
      for (const ForeignKey& key : keys)
        if (key.use == use) line(key);
}

const ForeignKey* find_key(const ForeignFormat& format, std::string_view name) {
  for (const std::span<const ForeignKey> keys : format.keys)
    if (const ForeignKey* found = find_key(keys, name)) return found;
  return nullptr;
}

/// Not one of the values by which programs say that a setting is off.
bool says_something(const nlohmann::json& value, double neutral) {
  if (value.is_number()) return value.get<double>() != neutral;
  if (value.is_boolean()) return value.get<bool>();
  return value.is_string() ? !value.get_ref<const std::string&>().empty() : !value.empty();
}

/// What is told of an unknown key: a name of another spelling would be lost.
std::string unknown_key(const JsonReader& object, const ForeignFormat& format, const std::string& name) {
  std::vector<std::string> names;
  for_each_key(format, [&](const ForeignKey& key) { names.emplace_back(key.name); });
  const std::optional<std::string> near = nearest(name, names);
  return fmt::format("{} is not read: no such key is known{}", object.place_of(name),
                     near ? fmt::format("; did you mean {}?", *near) : "");
}

}  // namespace

const ForeignKey* find_key(std::span<const ForeignKey> keys, std::string_view name) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const ForeignKey& one) { return name == one.name; });
  return found == keys.end() ? nullptr : &*found;
}

std::vector<std::string> left_out(const JsonReader& object, const ForeignFormat& format) {
  std::vector<std::string> remarks;
  for (const std::string& name : object.keys()) {
    const nlohmann::json* value = object.find(name);
    // find() leaves out null, by which programs write settings that have no value.
    if (!value) continue;
    const ForeignKey* key = find_key(format, name);
    if (!key)
      remarks.push_back(unknown_key(object, format, name));
    else if (key->use == KeyUse::unsupported && says_something(*value, key->neutral))
      object.refuse(name, fmt::format("{}, which is not supported", key->note));
    else if (key->use == KeyUse::named && says_something(*value, key->neutral))
      remarks.push_back(fmt::format("{} is not read: {}", object.place_of(name), key->note));
  }
  return remarks;
}

void warn_of(const std::vector<std::string>& remarks) {
  // A file of another program may have hundreds of keys that are not known here.
  constexpr std::size_t kMost = 10;
  for (std::size_t i = 0; i < std::min(remarks.size(), kMost); ++i)
    log_warning(remarks[i]);
  if (remarks.size() > kMost)
    log_warning(fmt::format("{} more keys of such files are not read", remarks.size() - kMost));
}

std::string markdown_table(const ForeignFormat& format) {
  std::string table = "| key | | what it is |\n|---|---|---|\n";
  for_each_key(format, [&](const ForeignKey& key) {
    table += fmt::format("| `{}` | {} | {} |\n", key.name, words_of(key.use, format), key.note);
  });
  return table;
}

std::string text_table(const ForeignFormat& format) {
  std::string table = fmt::format("{} ({})\n", format.title, format.name);
  for_each_key(format, [&](const ForeignKey& key) {
    table += fmt::format("    {} ({}): {}\n", key.name, words_of(key.use, format), key.note);
  });
  return table;
}

}  // namespace multicard
