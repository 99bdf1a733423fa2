#pragma once
/// \file What all kinds of `multicard prepare` are asked for.

#include <cstdint>
#include <optional>
#include <string>

namespace multicard {

struct ShardOptions {
  std::string output;            ///< prefix of the shards, PREFIX-00000-of-0000K.h5
  std::int64_t num_shards = 1;   ///< K
  bool skip_bad = false;         ///< leave out unreadable inputs instead of giving up
  bool quiet = false;            ///< no progress lines and no summary
  std::optional<double> split;   ///< put this fraction into PREFIX-test-*, the rest into PREFIX-train-*
  std::uint64_t split_seed = 1;  ///< which inputs those are
};

/// \throws UsageError
void check_shard_options(const ShardOptions& options);

/// Whether `count` things called `unit` can become the shards of `prefix`. \throws UsageError if they are too few,
/// DataError if shards of the prefix are there.
void check_shard_set(const std::string& prefix, std::int64_t count, std::int64_t num_shards, const std::string& unit);

}  // namespace multicard
