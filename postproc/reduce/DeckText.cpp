#include "postproc/reduce/DeckText.hpp"

#include <utility>
#include <vector>

#include "base/Text.hpp"

namespace multicard::post {

std::string deck_value(const std::string& deck, const std::string& path) {
  std::vector<std::pair<std::size_t, std::string>> open;  // indentation and path of the maps around a line
  for (const std::string& line : split(deck, '\n')) {
    const std::size_t indent = line.find_first_not_of(' ');
    const std::size_t colon = line.find(':');
    if (indent == std::string::npos || colon == std::string::npos || colon < indent) continue;
    while (!open.empty() && open.back().first >= indent)
      open.pop_back();
    const std::string name = line.substr(indent, colon - indent);
    const std::string here = open.empty() ? name : open.back().second + "." + name;
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    if (here == path) return value == std::string::npos ? std::string() : line.substr(value);
    if (value == std::string::npos) open.emplace_back(indent, here);
  }
  return {};
}

}  // namespace multicard::post
