#pragma once
/// \file How sequences of tokens make rows.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/RowShape.hpp"
#include "comm/Communicator.hpp"
#include "data/shards/RowOptions.hpp"
#include "data/shards/RowShards.hpp"

namespace multicard {

/// A sequence as a part of a row.
struct SequencePart {
  std::int64_t sequence = 0;              ///< its number in the shards
  std::int64_t length = 0;                ///< tokens taken, from its beginning
  std::int64_t num_targets = 0;           ///< of these
  TokenPart half = TokenPart::sequences;  ///< whose sequence it is
};

/// The rows that a set of token shards is trained in: one sequence each, or with packing as many as fit, first fit in
/// the order of the shards (each sequence goes into the first row with room for it). Sequences without targets, also
/// those that lost them to a cut, are left out. A function of shards and options alone, the same on all ranks.
///
/// Rows of several sets follow each other, set by set: no row has sequences of two, and `limit` counts those of each.
///
/// Of preference pairs each row is one: the chosen sequence and the rejected one, each cut by itself; a pair is left
/// out when one of its sequences is.
class TextRows {
 public:
  /// Collective: the ranks look at the masks of overlong sequences in parallel.
  /// \throws UsageError for options without sense, DataError on all ranks when no row of a set is left or for
  /// Overlong::error.
  TextRows(const RowShards& shards, const RowOptions& options, const Communicator& communicator);
  /// Collective. Root's rows; other ranks may pass null.
  static std::shared_ptr<const TextRows> broadcast(const std::shared_ptr<const TextRows>& rows,
                                                   const Communicator& communicator, int root);

  std::int64_t num_rows() const { return static_cast<std::int64_t>(first_part_.size()) - 1; }
  /// Rows of each set.
  const std::vector<std::int64_t>& rows_of_sets() const { return rows_of_sets_; }
  RowShape shape(std::int64_t row) const;
  /// Tokens of a row.
  std::int64_t length(std::int64_t row) const;
  std::span<const SequencePart> parts(std::int64_t row) const;
  /// Tokens of the longest row.
  std::int64_t longest_row() const { return longest_row_; }
  /// Tokens of the longest sequence as it is taken into a row.
  std::int64_t longest_sequence() const { return longest_sequence_; }
  /// Over all rows.
  std::int64_t num_sequences() const { return static_cast<std::int64_t>(parts_.size()); }
  std::int64_t num_tokens() const { return num_tokens_; }
  std::int64_t num_targets() const { return num_targets_; }
  /// Sequences (of pairs: pairs) left out because they are overlong or because they have no target; sequences that were
  /// cut.
  std::int64_t num_overlong() const { return num_overlong_; }
  std::int64_t num_without_target() const { return num_without_target_; }
  std::int64_t num_cut() const { return num_cut_; }

 private:
  TextRows() = default;

  void take_sequences(const RowShards& shards, const RowOptions& options);
  void take_sequence(const RowShards& shards, const RowOptions& options, std::int64_t sequence, std::int64_t longest);
  void count_cut(const RowShards& shards, const Communicator& communicator);
  void leave_out_without_target(std::size_t group_size);
  void make_rows(const RowShards& shards, const RowOptions& options);
  /// Makes rows of the parts [first, end), which are put in the order of the rows.
  void pack(std::size_t first, std::size_t end, std::int64_t max_length);

  std::vector<SequencePart> parts_;      ///< row by row
  std::vector<std::size_t> first_part_;  ///< of each row, and the end
  std::vector<std::int64_t> rows_of_sets_;
  std::int64_t longest_row_ = 0, longest_sequence_ = 0, num_tokens_ = 0, num_targets_ = 0;
  std::int64_t num_overlong_ = 0, num_without_target_ = 0, num_cut_ = 0;
};

}  // namespace multicard
