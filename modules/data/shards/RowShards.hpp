#pragma once
/// \file Where the sequences of rows are read.

#include "data/shards/TokenShards.hpp"

namespace multicard {

/// What a row is made of, apart from packing.
enum class RowContent { sequences, preference_pairs };

/// Token shards, or those of the two halves of preference pairs: pair i is sequence i of both. Refers to them.
class RowShards {
 public:
  RowShards(const TokenShards& sequences) : first_(&sequences) {}  // NOLINT(google-explicit-constructor): a view
  RowShards(const TokenShards& chosen, const TokenShards& rejected) : first_(&chosen), rejected_(&rejected) {}

  /// Sequences that belong together and stand in one row: 2 with pairs.
  std::size_t group_size() const { return rejected_ ? 2 : 1; }
  std::int64_t num_groups() const { return first_->info().num_sequences; }
  const TokenShards& at(std::size_t place) const { return place == 0 ? *first_ : *rejected_; }
  const TokenShards& holding(TokenPart half) const { return half == TokenPart::rejected ? *rejected_ : *first_; }
  /// Of the sequences at `place` of their groups.
  TokenPart part(std::size_t place) const {
    return !rejected_ ? TokenPart::sequences : place == 0 ? TokenPart::chosen : TokenPart::rejected;
  }

 private:
  const TokenShards* first_;
  const TokenShards* rejected_ = nullptr;
};

}  // namespace multicard
