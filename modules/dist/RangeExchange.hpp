#pragma once
/// \file Bytes that some ranks hold, to others that want them.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"

namespace multicard {

/// Bytes of something that all ranks know by its name: those from `first` on.
template <class Byte>
struct NamedRange {
  std::string name;
  std::uint64_t first = 0;
  std::span<Byte> bytes;
};
using HeldRanges = std::vector<NamedRange<const std::byte>>;
using WantedRanges = std::vector<NamedRange<std::byte>>;

/// Collective. Fills what each rank wants with what ranks hold of it, its own first; only what is wanted is sent, from
/// rank to rank, at most 1 GiB at once. Where several ranks hold the same bytes, the first of them sends them.
/// \throws std::logic_error on all ranks where one wants what none holds
void exchange_ranges(const HeldRanges& held, const WantedRanges& wanted, const Communicator& communicator);

}  // namespace multicard
