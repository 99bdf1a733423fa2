#include "data/shards/ShardOptions.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "data/shards/ShardNames.hpp"

namespace multicard {

void check_shard_options(const ShardOptions& options) {
  constexpr std::int64_t kMostShards = 99999;
  if (options.output.empty() || options.output.ends_with('/')) throw UsageError("-o needs a prefix such as data/train");
  if (options.num_shards < 1 || options.num_shards > kMostShards)
    throw UsageError(fmt::format("--shards must lie between 1 and {}", kMostShards));
  if (options.split && !(*options.split > 0 && *options.split < 1))
    throw UsageError("--split must lie between 0 and 1");
}

void check_shard_set(const std::string& prefix, std::int64_t count, std::int64_t num_shards, const std::string& unit) {
  if (count < num_shards) throw UsageError(fmt::format("{} {} cannot fill {} shards", count, unit, num_shards));
  require_no_shards(prefix);
}

}  // namespace multicard
