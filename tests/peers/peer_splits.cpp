// How patterns split texts around every character: reads a JSON line {"pattern", "contexts": [[before, after], ...],
// "ranges": [[first, last], ...]} from standard input and writes a JSON list of walks, or {"refused": why}.

#include <iostream>

#include <nlohmann/json.hpp>

#include "../unit/text/SplitWalk.hpp"
#include "base/Error.hpp"

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    const nlohmann::json request = nlohmann::json::parse(line);
    nlohmann::json answer = nlohmann::json::array();
    try {
      const multicard::Regex regex(request["pattern"].get<std::string>());
      if (request.contains("texts")) {
        for (const std::string text : request["texts"])
          answer.push_back(multicard::split_lengths(regex, text));
      } else {
        for (const auto& context : request["contexts"])
          answer.push_back(multicard::split_walk(regex, {context[0], context[1]}, request["ranges"]));
      }
    } catch (const multicard::Error& error) {
      answer = {{"refused", error.what()}};
    }
    std::cout << answer.dump() << std::endl;
  }
}
