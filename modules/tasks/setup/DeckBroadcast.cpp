#include "tasks/setup/DeckBroadcast.hpp"

#include "comm/Agreement.hpp"

namespace multicard {

Deck share_deck(const Communicator& world, const std::string& name, const std::function<Deck()>& load) {
  // As text, overrides applied: nodes may see other states of a file, or not see it at all.
  const std::string text = agreed(world, [&] { return world.is_root() ? load().to_yaml() : std::string(); });
  return Deck::parse(world.broadcast(text), name);
}

}  // namespace multicard
