#pragma once
/// \file Which token shards go together; for TokenShards.cpp.

#include <string>

#include "data/shards/TokenShardFile.hpp"

namespace multicard {

/// Of two shards of one set. \throws DataError for another tokenizer, template or date
void check_alike(const std::string& first_path, const TokenSetInfo& first, const std::string& path,
                 const TokenSetInfo& found);

/// Of shards of two sets, by SHA-256 as far as they name one. \throws DataError
void check_tokenizers(const std::string& first_path, const std::string& first, const std::string& path,
                      const std::string& found);

/// Adds a shard to what is known of those before it.
void add_shard(const TokenSetInfo& found, TokenSetInfo& all);

}  // namespace multicard
