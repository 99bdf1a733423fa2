#include "postproc/study/DeckSettings.hpp"

#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "postproc/reduce/DeckText.hpp"

namespace multicard::post {

namespace {

using Deck = std::map<std::string, std::string>;

std::optional<double> number_in(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? std::nullopt : std::optional(number);
}

/// What a sweep set for this run, as one text.
std::string swept(const RunReport& run) {
  std::string all;
  for (const auto& [key, value] : run.settings)
    if (key == "case" || key == "share_task" || key.find('.') != std::string::npos) all += key + "=" + value + "\n";
  return all;
}

/// Whether `key` differs between runs for which a sweep set the same.
bool differs(const std::string& key, const std::vector<Deck>& decks, const std::vector<std::string>& groups) {
  std::map<std::string, std::string> first;  // values by group
  bool any = false;
  for (std::size_t i = 0; i < decks.size(); ++i) {
    if (decks[i].empty()) continue;
    const auto value = decks[i].find(key);
    if (value == decks[i].end()) return false;
    const auto [known, is_new] = first.emplace(groups[i], value->second);
    any = any || (!is_new && !same_value(known->second, value->second));
  }
  return any;
}

}  // namespace

bool same_value(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const std::optional<double> number_a = number_in(a), number_b = number_in(b);
  return number_a && number_b && *number_a == *number_b;
}

void add_deck_settings(std::vector<RunReport>& runs, const KeyTable& keys) {
  std::set<std::string> texts;
  for (const RunReport& run : runs)
    texts.insert(run.deck);
  if (texts.size() < 2) return;
  std::vector<Deck> decks;
  std::vector<std::string> groups;
  std::set<std::string> candidates;
  for (const RunReport& run : runs) {
    decks.push_back(deck_values(run.deck));
    groups.push_back(swept(run));
    for (const auto& [key, value] : decks.back())
      if (keys.knows(key) && !keys.is_bookkeeping(key)) candidates.insert(key);
  }
  for (const std::string& key : candidates) {
    if (!differs(key, decks, groups)) continue;
    std::vector<std::string> spellings;  // the first one of every value stands for it
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto value = decks[i].find(key);
      if (value == decks[i].end()) continue;
      std::string text = value->second;
      for (const std::string& known : spellings)
        if (same_value(known, text)) text = known;
      spellings.push_back(text);
      runs[i].settings.emplace(key, std::move(text));
    }
  }
}

}  // namespace multicard::post
