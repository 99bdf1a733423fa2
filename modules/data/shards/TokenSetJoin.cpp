#include "data/shards/TokenSetJoin.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

void check_same(const std::pair<std::string, std::string>& paths, const std::string& mine, const std::string& theirs,
                const char* what) {
  if (mine != theirs)
    throw DataError(
        fmt::format("{} and {} do not match", paths.first, paths.second),
        fmt::format("their {} are {} and {}", what, mine.empty() ? "none" : mine, theirs.empty() ? "none" : theirs),
        "Prepare them alike.");
}

constexpr const char* kTokenizers = "tokenizers (SHA-256)";

}  // namespace

void check_alike(const std::string& first_path, const TokenSetInfo& first, const std::string& path,
                 const TokenSetInfo& found) {
  const std::pair<std::string, std::string> paths{first_path, path};
  check_same(paths, first.tokenizer_sha256, found.tokenizer_sha256, kTokenizers);
  check_same(paths, first.template_name, found.template_name, "templates");
  check_same(paths, first.template_date, found.template_date, "dates (--date)");
}

void check_tokenizers(const std::string& first_path, const std::string& first, const std::string& path,
                      const std::string& found) {
  if (!first.empty() && !found.empty()) check_same({first_path, path}, first, found, kTokenizers);
}

void add_shard(const TokenSetInfo& found, TokenSetInfo& all) {
  all.num_sequences += found.num_sequences;
  all.num_tokens += found.num_tokens;
  all.num_bytes += found.num_bytes;
  // One shard without the attribute makes the largest id of all unknown; the tokens are then read
  // (TokenShards::count()).
  all.largest_id =
      std::min(all.largest_id, found.largest_id) < 0 ? kUnknownId : std::max(all.largest_id, found.largest_id);
  ++all.num_shards;
  if (all.tokenizer_sha256.empty()) all.tokenizer_sha256 = found.tokenizer_sha256;
  if (all.template_name.empty()) {
    all.template_name = found.template_name;
    all.template_date = found.template_date;
  }
  if (all.dataset_type.find(found.dataset_type) == std::string::npos) all.dataset_type += " + " + found.dataset_type;
}

}  // namespace multicard
