#pragma once
/// \file What `multicard prepare text` reports.

#include <string>

#include "comm/Communicator.hpp"
#include "data/shards/DatasetType.hpp"
#include "prepare/sets/EncodedSet.hpp"
#include "prepare/sets/TokenWriter.hpp"

namespace multicard {

/// What was cut or left out, in words; empty if nothing was.
std::string in_words(const CutCounts& counts);

/// Collective. Lengths of the sequences of all ranks, and what was cut or left out (`encoded.counts` being the sums
/// over all ranks).
void report_sequences(const EncodedSet& encoded, bool is_paired, const Communicator& communicator);

/// Collective. Warns of fields that records of this type are not known to have, and of reasoning that the template does
/// not write.
void warn_of_what_is_left_out(const EncodedSet& encoded, DatasetType type, const std::string& template_name,
                              const Communicator& communicator);

/// One line on a set that has been written.
void report_set(const TokenWriter& writer, bool is_paired);

/// One line on the whole work: its time, and the rates of bytes read and tokens written.
void report_rate(std::int64_t num_bytes, std::int64_t num_tokens, double seconds);

}  // namespace multicard
