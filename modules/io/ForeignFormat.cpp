#include "io/ForeignFormat.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace multicard {

namespace {

/// What becomes of a key.
const char* words_of(KeyUse use, const ForeignFormat& format) {
  switch (use) {
    case KeyUse::used:
      return "used";
    case KeyUse::harmless:
      return "left out";
    case KeyUse::unsupported:
      break;
  }
  return format.unsupported;
}

/// Calls `line` for each key, by use.
template <class Line>
void for_each_key(const ForeignFormat& format, Line&& line) {
  for (const KeyUse use : {KeyUse::used, KeyUse::unsupported, KeyUse::harmless})
    for (const std::span<const ForeignKey> keys : format.keys)
      for (const ForeignKey& key : keys)
        if (key.use == use) line(key);
}

}  // namespace

const ForeignKey* find_key(std::span<const ForeignKey> keys, std::string_view name) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const ForeignKey& one) { return name == one.name; });
  return found == keys.end() ? nullptr : &*found;
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
