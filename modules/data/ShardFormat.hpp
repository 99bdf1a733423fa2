#pragma once
/// \file What image shards are called inside (docs/data.md).

#include <cstdint>
#include <string>

namespace multicard::shard_format {

inline constexpr const char* kFormat = "multicard-images";
inline constexpr std::int64_t kSchemaVersion = 1;

inline const std::string kImages = "/images";  ///< uint8 [N, H, W, C]
inline const std::string kLabels = "/labels";  ///< int32 [N]

}  // namespace multicard::shard_format
