// Decks: YAML to typed options, as a run or a sweep reads them.
#include "config/Deck.hpp"

#include "config/SweepOptions.hpp"
#include "fuzz/Target.hpp"
#include "tasks/options/RunOptions.hpp"
#include "tasks/options/Variant.hpp"

namespace multicard::fuzz {

// An axis of more ranks than there are is the environment's.
const std::vector<ExitCode> kDocumentedCodes{ExitCode::usage, ExitCode::environment};

void read(std::string_view input) {
  const Deck deck = Deck::parse(std::string(input), "deck.yaml");
  const std::string text = deck.to_yaml();
  require(Deck::parse(text, "deck.yaml").to_yaml() == text, "a deck that is written is read as another one");
  if (deck.root().find("sweep") != nullptr) {
    expand(read_sweep_options(deck), 4);
  } else {
    read_run_options(with_defaults(deck));
  }
}

}  // namespace multicard::fuzz
