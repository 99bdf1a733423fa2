#pragma once
/// \file Packing by first fit.

#include <cstdint>
#include <span>
#include <vector>

namespace multicard {

/// The pack of each item: the first one, in the order in which packs were begun, that still has room for it, else a new
/// one. `lengths` are at least 1 and at most `capacity`. Time: items x log(packs).
std::vector<std::size_t> first_fit(std::span<const std::int64_t> lengths, std::int64_t capacity);

}  // namespace multicard
