#pragma once
/// \file Which part of an encoded record is kept.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/shards/TokenSequences.hpp"
#include "prepare/records/RecordEncoder.hpp"

namespace multicard {

/// What happened to records.
struct CutCounts {
  std::int64_t num_cut = 0;                ///< sequences (of a pair: halves) that lost their end
  std::int64_t num_split = 0;              ///< texts that became several sequences
  std::int64_t num_without_target = 0;     ///< records or parts of texts left out because nothing in them is a target
  std::int64_t num_lost_target = 0;        ///< records left out because the cut took all targets
  std::int64_t num_dropped_reasoning = 0;  ///< records with reasoning that the template does not write
};

/// What becomes of sequences above the largest length.
enum class LongText {
  cut,   ///< they lose their end
  split  ///< they become several
};

/// The sequences one rank has made, and the record that each comes from.
struct EncodedSet {
  TokenSequences chosen;                    ///< all sequences, of pairs the chosen half
  TokenSequences rejected;                  ///< of pairs; else empty
  std::vector<std::int64_t> num_of_record;  ///< sequences of each record that has any, in order
  CutCounts counts;
  std::map<std::string, std::int64_t> unknown_fields;  ///< and how many records have them

  /// Adds a record, cut to `max_length`.
  void add(const EncodedRecord& record, LongText long_text, std::optional<std::int64_t> max_length);

 private:
  void add_parts(const EncodedText& text, std::size_t max_length);
  void add_cut(const EncodedRecord& record, std::size_t max_length);
};

}  // namespace multicard
