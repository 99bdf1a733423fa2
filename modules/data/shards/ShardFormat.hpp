#pragma once
/// \file What shards are called inside (docs/data.md).

#include <cstdint>
#include <string>

#include "comm/Communicator.hpp"
#include "io/Hdf5.hpp"

namespace multicard {

/// What a shard holds.
enum class ShardKind { image, token };

/// Image shards.
namespace shard_format {

inline constexpr const char* kFormat = "multicard-images";
inline constexpr std::int64_t kSchemaVersion = 1;

inline const std::string kImages = "/images";  ///< uint8 [N, H, W, C]
inline const std::string kLabels = "/labels";  ///< int32 [N]

}  // namespace shard_format

/// Token shards. Preference pairs have the three datasets in each of the groups /chosen and /rejected.
namespace token_format {

inline constexpr const char* kFormat = "multicard-tokens";
inline constexpr std::int64_t kSchemaVersion = 1;

inline const std::string kTokens = "/tokens";       ///< uint32 [T]
inline const std::string kLossMask = "/loss_mask";  ///< uint8 [T]
inline const std::string kOffsets = "/offsets";     ///< uint64 [S + 1]
inline const std::string kChosen = "/chosen";
inline const std::string kRejected = "/rejected";

}  // namespace token_format

/// Collective. Opens a shard for reading; a file of another kind (JSON, say) is an error that says which command makes
/// shards of it. \throws DataError on all ranks
Hdf5File open_shard(const std::string& path, ShardKind kind, const Communicator& communicator);

/// Checks what a file says of itself; `kind` is named in the message with the command that makes it. An earlier version
/// of a format would be read by its module; a newer one cannot. \throws DataError
void require_format(const Hdf5File& file, ShardKind kind, const std::string& format, std::int64_t version);

/// Of a file that has been looked at before: what was found then still holds of a dataset. \throws DataError
void require_unchanged(const std::string& path, const Hdf5Dataset& dataset, ElementType type, const Extents& dims);

}  // namespace multicard
