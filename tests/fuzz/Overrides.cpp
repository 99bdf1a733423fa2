// Values of a deck that are replaced on the command line, one a line.
#include <algorithm>

#include "config/Deck.hpp"
#include "fuzz/Target.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard::fuzz {

const std::vector<ExitCode> kDocumentedCodes{ExitCode::usage};

void read(std::string_view input) {
  std::vector<std::string> overrides;
  for (std::size_t begin = 0; begin <= input.size();) {
    const std::size_t end = std::min(input.find('\n', begin), input.size());
    overrides.emplace_back(input.substr(begin, end - begin));
    begin = end + 1;
  }
  Deck deck = Deck::parse("model: {name: mobilenet_v2}\nrun: {epochs: 1}\n", "deck.yaml");
  deck.apply(parse_overrides(overrides));
  read_run_options(deck);
}

}  // namespace multicard::fuzz
