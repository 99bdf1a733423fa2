#pragma once
/// \file Log-probabilities of a reference model, stored next to the preference pairs that they belong to.

#include <cstdint>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"

namespace multicard {

/// Of the pairs of a set of shards, in their order; not a number where a pair was left out.
struct ReferenceLogProbs {
  std::vector<float> chosen, rejected;
};

/// PREFIX.ref-KEY.h5 of the set that `shard` belongs to (PREFIX-00000-of-00004.h5, or PREFIX.h5).
/// \param key a SHA-256 in hexadecimal digits, of which the name has the first 16
std::string reference_path(const std::string& shard, const std::string& key);
/// Whether a file's name is one of these.
bool is_reference_file(const std::string& path);

/// Collective. Each rank writes a part of what is equal on all of them. The file appears when it is whole.
void write_reference(const std::string& path, const std::string& key, const ReferenceLogProbs& values,
                     const Communicator& communicator);

/// Not collective. \throws DataError for a file that is damaged, that has another key, or that has another number of
/// pairs
ReferenceLogProbs read_reference(const std::string& path, const std::string& key, std::int64_t num_pairs);

}  // namespace multicard
