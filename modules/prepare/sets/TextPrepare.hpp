#pragma once
/// \file Writing token shards (docs/data.md).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "data/shards/DatasetType.hpp"
#include "data/shards/ShardOptions.hpp"
#include "prepare/sets/EncodedSet.hpp"

namespace multicard {

/// Options of `multicard prepare text`.
struct TextPrepareOptions : ShardOptions {
  DatasetType type = DatasetType::alpaca;
  std::vector<std::string> inputs;         ///< files or globs, gzip or plain
  std::string tokenizer;                   ///< model folder or tokenizer file; none for type tokens
  std::string prompt_template;             ///< empty: the folder's chat template, else alpaca
  std::string date;                        ///< YYYY-MM-DD, which the template writes; empty: its default
  std::vector<std::string> map;            ///< names of fields and roles, see RecordMap
  std::optional<LossOn> loss;              ///< none: completion
  std::optional<std::int64_t> max_length;  ///< tokens of a sequence
};

/// What was written.
struct TextPrepareResult {
  std::int64_t num_records = 0;  ///< read
  std::int64_t num_skipped = 0;  ///< bad ones
  std::int64_t num_sequences = 0, num_tokens = 0, num_trained = 0;
  CutCounts counts;
  std::string template_name;  ///< empty where none is used
  std::vector<std::string> files;
};

/// Collective. Tokenises the records, each rank an equal part, and writes the shards, all ranks together. The contents
/// do not depend on the number of ranks. A rank holds its part of the tokens in memory, 5 bytes each. Shards get their
/// names when all of them are whole; after an error none is left.
/// \throws UsageError (options that contradict each other) and DataError (input, existing output, full disk), on all
/// ranks.
TextPrepareResult prepare_text(const TextPrepareOptions& options, const Communicator& communicator);

}  // namespace multicard
