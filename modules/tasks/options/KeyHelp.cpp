#include "tasks/options/KeyHelp.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

namespace {

constexpr std::size_t kHelpIndent = 4;  ///< of the lines below that of the key

std::string section_of(const DeckKey& key) {
  const std::size_t dot = key.path.find('.');
  return dot == std::string_view::npos ? "top" : std::string(key.path.substr(0, dot));
}

std::string plain(std::string text) {
  std::erase(text, '`');
  return text;
}

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool is_about(const DeckKey& key, const std::string& words) {
  const std::string text = plain(fmt::format("{} {} {}", key.path, key.label, key.help));
  return in_lower_case(text).find(in_lower_case(words)) != std::string::npos;
}

/// "speed", or "speed, fixed" where a run resumes only with the same value all the same.
std::string effect_text(const DeckKey& key) {
  const bool is_fixed = key.notes.on_resume == OnResume::same;
  return std::string(text_of(key.effect)) + (is_fixed ? ", fixed" : "");
}

std::string help_text(const DeckKey& key) {
  if (key.notes.reserved.empty()) return std::string(key.help);
  return fmt::format("{}; not available yet: {}", key.help, join(split(key.notes.reserved, ' '), ", "));
}

/// A cell of a table, in which a bar would begin the next one.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string key_help(const std::string& about) {
  std::string out;
  for (const DescribedKey& described : describe_run_keys()) {
    if (!is_about(described.key, about)) continue;
    const auto& [key, reading] = described;
    const std::string task = key.tasks == KeyTasks::any ? "" : fmt::format(", task {} only", text_of(key.tasks));
    const bool is_required = reading.fallback.starts_with("required");
    const std::string accepted = fmt::format("{}; {}{}", reading.type, is_required ? "" : "default ", reading.fallback);
    out += fmt::format("{} ({}{})\n", key.path, effect_text(key), task);
    for (const std::string& line : {accepted, help_text(key)})
      out += std::string(kHelpIndent, ' ') + plain(line) + "\n";
  }
  return out;
}

std::map<std::string, std::string> key_tables() {
  std::map<std::string, std::string> tables;
  for (const auto& [key, reading] : describe_run_keys()) {
    const std::string section = section_of(key);
    std::string& table = tables[section];
    if (table.empty()) table = "| key | task | type | default | effect | meaning |\n|---|---|---|---|---|---|\n";
    const std::string_view name = section == "top" ? key.path : key.path.substr(section.size() + 1);
    table +=
        fmt::format("| `{}` | {} | {} | {} | {} | {} |\n", name, key.tasks == KeyTasks::any ? "" : text_of(key.tasks),
                    cell(reading.type), cell(reading.fallback), effect_text(key), cell(help_text(key)));
  }
  return tables;
}

}  // namespace multicard
