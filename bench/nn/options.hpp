#pragma once
// name=value words of the command line.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace multicard::bench {

using Options = std::map<std::string, std::string>;

// `options` are the defaults; a name that is not among them ends the program.
inline Options read_options(Options options, int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.find('=');
    if (equals == std::string::npos || !options.contains(word.substr(0, equals))) {
      std::fprintf(stderr, "unknown option %s\n", word.c_str());
      std::exit(2);
    }
    options[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return options;
}

inline std::vector<std::string> list_of(const std::string& words) {
  std::vector<std::string> list;
  std::istringstream stream(words);
  for (std::string word; std::getline(stream, word, ',');)
    list.push_back(word);
  return list;
}

}  // namespace multicard::bench
