#include "results/DeckText.hpp"

#include <utility>
#include <vector>

#include "base/Text.hpp"

namespace multicard {

namespace {

/// Values of runs that failed early are quoted where the deck of the user had quotes; they are the same without.
std::string unquoted(std::string value) {
  const bool is_quoted = value.size() > 1 && value.front() == '"' && value.find('"', 1) == value.size() - 1;
  return is_quoted && value.find('\\') == std::string::npos ? value.substr(1, value.size() - 2) : value;
}

/// Calls `visit(path, value)` for every key with a value; ends early when that returns true.
template <class Visit>
void visit_deck(const std::string& deck, const Visit& visit) {
  std::vector<std::pair<std::size_t, std::string>> open;  // indentation and path of the maps around a line
  for (const std::string& line : split(deck, '\n')) {
    // Resolved decks are written by multicard itself, one key a line in block style: a YAML parser is not needed.
    const std::size_t indent = line.find_first_not_of(' ');
    const std::size_t colon = line.find(':');
    if (indent == std::string::npos || colon == std::string::npos || colon < indent) continue;
    while (!open.empty() && open.back().first >= indent)
      open.pop_back();
    const std::string name = line.substr(indent, colon - indent);
    const std::string here = open.empty() ? name : open.back().second + "." + name;
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    if (value == std::string::npos)
      open.emplace_back(indent, here);
    else if (visit(here, unquoted(line.substr(value))))
      return;
  }
}

}  // namespace

std::string deck_value(const std::string& deck, const std::string& path) {
  std::string found;
  visit_deck(deck, [&](const std::string& here, std::string value) {
    if (here != path) return false;
    found = std::move(value);
    return true;
  });
  return found;
}

std::map<std::string, std::string> deck_values(const std::string& deck) {
  std::map<std::string, std::string> values;
  visit_deck(deck, [&](const std::string& here, std::string value) {
    values.emplace(here, std::move(value));
    return false;
  });
  return values;
}

}  // namespace multicard
