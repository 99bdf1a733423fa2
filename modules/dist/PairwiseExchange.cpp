#include "dist/PairwiseExchange.hpp"

#include <algorithm>

#include "dist/OpenMessages.hpp"

namespace multicard {

void pairwise_exchange(const Communicator& communicator, std::span<const std::byte* const> from,
                       std::span<std::byte* const> to, std::size_t bytes) {
  OpenMessages messages(communicator);
  const int num_ranks = communicator.size();
  // Between two ranks MPI keeps the order of messages, so segments need no tags of their own. Each rank begins with
  // another one, so that none is sent to by all at once.
  for (int step = 1; step < num_ranks; ++step) {
    const int rank = (communicator.rank() + step) % num_ranks;
    const auto at = static_cast<std::size_t>(rank);
    for (std::size_t first = 0; first < bytes; first += kSegmentBytes) {
      const std::size_t length = std::min(kSegmentBytes, bytes - first);
      messages.receive(rank, 0, to[at] + first, length);
      messages.send(rank, 0, from[at] + first, length);
    }
  }
  messages.wait([](std::size_t) {});
}

}  // namespace multicard
