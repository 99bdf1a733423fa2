#include "tasks/setup/DeckBroadcast.hpp"

#include "comm/Agreement.hpp"

namespace multicard {

Deck share_deck(const Communicator& world, const std::string& name, const std::function<Deck()>& load) {
  const std::string text = agreed(world, [&] { return world.is_root() ? load().to_yaml() : std::string(); });
  return Deck::parse(world.broadcast(text), name);
}

}  // namespace multicard
