#include "data/ShardFormat.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

void require_format(const Hdf5File& file, const std::string& kind, const std::string& format, std::int64_t version) {
  if (!file.has_attribute("/", "format") || file.attribute<std::string>("/", "format") != format)
    throw DataError(fmt::format("{} is not {} {} shard", file.path(), kind == "image" ? "an" : "a", kind),
                    fmt::format("its attribute format is not {}", format),
                    fmt::format("Make shards with multicard prepare {}.", kind == "image" ? "images" : "text"));
  const auto found = file.attribute<std::int64_t>("/", "schema_version");
  if (found != version)
    throw DataError(fmt::format("{} cannot be read", file.path()),
                    fmt::format("its schema_version is {}, this program knows {}", found, version),
                    "Prepare it again with this version.");
}

}  // namespace multicard
