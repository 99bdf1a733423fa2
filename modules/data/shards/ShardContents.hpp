#pragma once
/// \file What is known of the attributes and datasets of shards, which other programs may write too.

#include <string>
#include <vector>

#include "data/shards/ShardFormat.hpp"
#include "io/ForeignFormat.hpp"

namespace multicard {

/// Names of the datasets ("/boxes") and attributes ("note", "/images: note") of a shard that no table has.
/// \throws DataError naming one that is not supported
std::vector<std::string> unknown_contents(const Hdf5File& file, ShardKind kind);

/// All tables, as `multicard help formats` and docs/data.md show them.
std::vector<ForeignFormat> shard_formats();

}  // namespace multicard
