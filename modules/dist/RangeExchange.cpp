#include "dist/RangeExchange.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "comm/Native.hpp"
#include "comm/Packing.hpp"
#include "comm/Watchdog.hpp"
#include "dist/OpenMessages.hpp"

namespace multicard {

// All ranks learn what each holds and wants, and find by the same rule who sends which bytes to whom. Between two ranks
// MPI keeps the order of messages: both go through the receiver's list, so that messages need no names.

namespace {

/// A range of a rank, without its bytes.
struct Place {
  std::string name;
  std::uint64_t first = 0, end = 0;
  int rank = 0;
  std::size_t number = 0;  ///< in the rank's list
};

/// Bytes that go from one place to another.
struct Transfer {
  const Place *from, *to;
  std::uint64_t first = 0;
  std::size_t bytes = 0;
};

/// Of all ranks.
template <class Ranges>
std::vector<Place> all_places(const Ranges& mine, const Communicator& communicator) {
  Packer pack;
  pack(mine.size());
  for (const auto& range : mine) {
    pack(range.name);
    pack(range.first);
    pack(range.first + range.bytes.size());
  }
  std::vector<Place> all;
  int rank = 0;
  for (const std::string& bytes : communicator.allgather(pack.take())) {
    Unpacker take(bytes);
    std::size_t count = 0;
    take(count);
    for (std::size_t number = 0; number < count; ++number) {
      Place& place = all.emplace_back();
      take(place.name);
      take(place.first);
      take(place.end);
      place.rank = rank;
      place.number = number;
    }
    ++rank;
  }
  return all;
}

using Sources = std::map<std::string, std::vector<const Place*>>;

/// Where byte `first` of what is wanted comes from.
const Place& source_of(const Place& wanted, std::uint64_t first, const Sources& sources) {
  const Place* best = nullptr;
  if (const auto found = sources.find(wanted.name); found != sources.end())
    for (const Place* place : found->second) {
      const bool is_better = best == nullptr || (place->rank == wanted.rank && best->rank != wanted.rank);
      if (place->first <= first && first < place->end && is_better) best = place;
    }
  if (best == nullptr)
    throw std::logic_error(
        fmt::format("no rank holds byte {} of {}, which rank {} wants", first, wanted.name, wanted.rank));
  return *best;
}

std::vector<Transfer> transfers_of(const std::vector<Place>& wanted, const Sources& sources) {
  std::vector<Transfer> transfers;
  for (const Place& place : wanted)
    for (std::uint64_t first = place.first; first < place.end; first += transfers.back().bytes) {
      const Place& source = source_of(place, first, sources);
      const std::uint64_t end = std::min({place.end, source.end, first + kMaxTransferBytes});
      transfers.push_back({&source, &place, first, static_cast<std::size_t>(end - first)});
    }
  return transfers;
}

}  // namespace

void exchange_ranges(const HeldRanges& held, const WantedRanges& wanted, const Communicator& communicator) {
  const std::vector<Place> held_places = all_places(held, communicator);
  const std::vector<Place> wanted_places = all_places(wanted, communicator);
  Sources sources;
  for (const Place& place : held_places)
    sources[place.name].push_back(&place);
  const std::vector<Transfer> transfers = transfers_of(wanted_places, sources);
  const Watchdog::Guard guard(communicator.watchdog(), "exchange of split tensors");
  OpenMessages messages(communicator);
  for (const auto& [source, target, first, bytes] : transfers) {
    const bool is_from = source->rank == communicator.rank(), is_to = target->rank == communicator.rank();
    const std::byte* from = is_from ? held[source->number].bytes.data() + (first - source->first) : nullptr;
    std::byte* to = is_to ? wanted[target->number].bytes.data() + (first - target->first) : nullptr;
    if (is_from && is_to)
      std::memcpy(to, from, bytes);
    else if (is_to)
      messages.receive(source->rank, 0, to, bytes);
    else if (is_from)
      messages.send(target->rank, 0, from, bytes);
  }
  messages.wait([](std::size_t) {});
}

}  // namespace multicard
