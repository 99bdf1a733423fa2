#include "postproc/study/DeckSettings.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "base/Number.hpp"
#include "results/DeckText.hpp"

namespace multicard::post {

namespace {

using Deck = std::map<std::string, std::string>;

/// What a sweep set for this run, as one text.
std::string swept(const RunReport& run) {
  std::string all;
  for (const auto& [key, value] : run.settings)
    if (key == "case" || key == "share_task" || key.find('.') != std::string::npos) all += key + "=" + value + "\n";
  return all;
}

/// Values of runs by what they have in common: the first one, and whether all are the same.
class Values {
 public:
  void add(const std::string& group, const std::string& value) {
    const auto [known, is_new] = first_.emplace(group, value);
    if (!is_new && !same_value(known->second, value)) varied_.insert(group);
  }
  bool any_varied() const { return !varied_.empty(); }
  /// Whether groups that are the same throughout differ from each other.
  bool any_differ() const {
    std::vector<std::string> constant;
    for (const auto& [group, value] : first_)
      if (!varied_.contains(group)) constant.push_back(value);
    return std::ranges::any_of(constant,
                               [&](const std::string& value) { return !same_value(value, constant.front()); });
  }

 private:
  std::map<std::string, std::string> first_;
  std::set<std::string> varied_;
};

/// Whether `key` differs between runs for which a sweep set the same, or between files in which it is the same
/// throughout: sweeps of other values of one key, with other bases.
bool differs(const std::string& key, const std::vector<RunReport>& runs, const std::vector<Deck>& decks,
             const std::vector<std::string>& groups) {
  Values by_group, by_file;
  for (std::size_t i = 0; i < decks.size(); ++i) {
    if (decks[i].empty()) continue;
    // A key that some deck lacks belongs to another task or method: it cannot be compared.
    const auto value = decks[i].find(key);
    if (value == decks[i].end()) return false;
    by_group.add(groups[i], value->second);
    if (!runs[i].settings.contains(key)) by_file.add(std::to_string(runs[i].source), value->second);
  }
  return by_group.any_varied() || by_file.any_differ();
}

/// Evaluations are no part of steps.
bool is_of_steps(const std::string& key, const KeyTable& keys) {
  return keys.knows(key) && !keys.is_bookkeeping(key) && !key.starts_with("evaluate.");
}

}  // namespace

bool same_value(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto number_a = parse_number<double>(a), number_b = parse_number<double>(b);
  return number_a && number_b && *number_a == *number_b;
}

void add_deck_settings(std::vector<RunReport>& runs, const KeyTable& keys) {
  std::set<std::string> texts;
  for (const RunReport& run : runs)
    texts.insert(run.deck);
  // One deck for all: what differs was set by the sweep and is known already.
  if (texts.size() < 2) return;
  std::vector<Deck> decks;
  std::vector<std::string> groups;
  std::set<std::string> candidates;
  for (const RunReport& run : runs) {
    decks.push_back(deck_values(run.deck));
    groups.push_back(swept(run));
    for (const auto& [key, value] : decks.back())
      if (is_of_steps(key, keys)) candidates.insert(key);
  }
  for (const std::string& key : candidates) {
    if (!differs(key, runs, decks, groups)) continue;
    std::vector<std::string> spellings;  // of every value the first one, which stands for it
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const auto value = decks[i].find(key);
      if (value == decks[i].end()) continue;
      const auto is_it = [&](const std::string& known) { return same_value(known, value->second); };
      auto spelling = std::ranges::find_if(spellings, is_it);
      if (spelling == spellings.end()) spelling = spellings.insert(spelling, value->second);
      runs[i].settings.emplace(key, *spelling);
    }
  }
}

}  // namespace multicard::post
