#include "config/Unavailable.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard {

namespace {

struct Restriction {
  const char* section;  ///< "" for the top of the deck
  const char* key;
  const char* available;  ///< the values on offer, separated by blanks; empty: the key cannot be set
};

/// What the words of decks cover and this version does not. To offer more, widen or delete a line; a key whose line is
/// deleted must be read in RunOptions.cpp.
constexpr std::array kRestrictions{
    Restriction{"method", "name", "full lora"},     Restriction{"parallel", "shard", "none"},
    Restriction{"run", "cuda_graph", "auto false"}, Restriction{"profile", "enabled", "false"},
    Restriction{"profile", "trace", "false"},
};

void refuse(Section& root, const Deck& deck, const Restriction& restriction) {
  const std::string name = restriction.section;
  Section section = name.empty() ? root : root.section(name);
  if (!section.has(restriction.key)) return;
  const std::string text = deck.get_text(name.empty() ? restriction.key : fmt::format("{}.{}", name, restriction.key));
  const auto available = split(restriction.available, ' ');
  if (!text.empty() && std::find(available.begin(), available.end(), text) != available.end()) return;
  const bool none = *restriction.available == '\0';
  section.reject(restriction.key, fmt::format("{} is not available in this version", text),
                 none ? "" : fmt::format("available: {}", join(available, ", ")), none ? "Remove the key." : "");
}

}  // namespace

bool is_later_method(const std::string& name) {
  constexpr std::array kLater{"qlora", "dpo", "lora-dpo", "qlora-dpo", "qat", "lora-qat"};
  return std::find(kLater.begin(), kLater.end(), name) != kLater.end();
}

void refuse_unavailable(Section& root, const Deck& deck) {
  for (const Restriction& restriction : kRestrictions)
    refuse(root, deck, restriction);
}

}  // namespace multicard
