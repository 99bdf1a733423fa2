#pragma once
/// \file Small numbers by name, as the trainer.json of a checkpoint keeps them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace multicard {

using NamedNumbers = std::map<std::string, double>;

/// nullopt where there is none of that name.
std::optional<double> number_of(const NamedNumbers& numbers, const std::string& name);

/// nullopt where there is none of that name. \throws DataError naming one that is not a whole number from `low` to
/// 2^53, up to which a double holds every one of them
std::optional<std::int64_t> whole_number_of(const NamedNumbers& numbers, const std::string& name, std::int64_t low = 0);

}  // namespace multicard
