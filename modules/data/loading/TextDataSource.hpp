#pragma once
/// \file Token shards as a source of batches.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loading/DataSource.hpp"
#include "data/loading/TextLoader.hpp"
#include "data/loading/TextRows.hpp"
#include "data/shards/TokenShards.hpp"

namespace multicard {

/// Which sequences are read, and how.
struct TextSourceOptions {
  std::vector<std::string> shards;  ///< of each set a path or a glob
  /// Of each set, in whose proportions an epoch has their rows. Empty: an epoch has every row once.
  std::vector<double> weights;
  RowContent content = RowContent::sequences;
  ShardReading reading;
  RowOptions rows;
  TextLoaderOptions loader;
  SamplerOptions order;  ///< num_rows and sets are those of the rows the sequences make
};

/// What opening a set of sequences finds, with the rows that they make.
struct TextSetScan {
  std::shared_ptr<const TokenSetScan> tokens;    ///< of pairs: of the chosen sequences
  std::shared_ptr<const TokenSetScan> rejected;  ///< of pairs, else null
  std::shared_ptr<const TextRows> rows;
};

/// What a rank computes on and reads of a step.
struct TextStepShape {
  std::int64_t rows = 0, rows_read = 0;
  std::int64_t width = 0;  ///< tokens of the longest row, of a pair those of both answers
};
/// What batches take, without rows that are kept.
InputMemory text_batch_memory(const TextLoaderOptions& options, const TextStepShape& step, at::Device device);

/// Batches of token ids and targets, both int64 [num_rows, width] (TextBatch says what they hold). A row of a
/// preference pair holds the chosen sequence and then the rejected one.
class TextDataSource final : public DataSource {
 public:
  /// Collective: opens the shards, of which everything is known with a `scan`, that of a source with the same options.
  /// \throws as TokenShards, TextRows and Sampler
  static std::unique_ptr<TextDataSource> open(const TextSourceOptions& options, const Communicator& communicator,
                                              at::Device device, const std::optional<TextSetScan>& scan = std::nullopt);

  /// Of pairs: the chosen sequences.
  const TokenShards& shards() const { return shards_; }
  /// No token is larger.
  std::int64_t largest_id() const;
  const TextRows& rows() const { return *rows_; }
  TextSetScan scan() const { return {shards_.scan(), rejected_ ? rejected_->scan() : nullptr, rows_}; }

  Batch allocate(std::int64_t step) const override;
  WorkUnit unit() const override { return {"tokens", "tok"}; }
  std::int64_t work_in(std::int64_t step) const override;
  InputMemory memory(std::int64_t rows, std::int64_t rows_read) const override;
  PartShape largest_part(std::int64_t rows, const ReadPlan& plan) const override;
  /// Rows, tokens and targets; of a mix also rows and weight of each set.
  std::map<std::string, double> identity() const override;

 private:
  TextDataSource(TokenShards shards, std::unique_ptr<TokenShards> rejected, std::shared_ptr<const TextRows> rows,
                 Sampler sampler, const TextSourceOptions& options, at::Device device);
  /// Of these rows at once: pairs without padding, other rows padded to the longest.
  PartShape part_of(std::span<const std::int64_t> rows) const;
  /// Of any rows, each number by itself.
  PartShape largest_possible(std::int64_t rows) const;
  std::int64_t kept_bytes(const TokenShards& shards) const;
  RowShards row_shards() const { return rejected_ ? RowShards(shards_, *rejected_) : RowShards(shards_); }

  void open_loader(int rank, int num_ranks, std::int64_t first_step, std::int64_t last_step) override;
  void close_loader() override { loader_.reset(); }
  Batch read() override;

  TokenShards shards_;
  std::unique_ptr<TokenShards> rejected_;  ///< of pairs, else null
  std::shared_ptr<const TextRows> rows_;
  TextLoaderOptions loader_options_;
  std::optional<std::int64_t> limit_;
  std::unique_ptr<TextLoader> loader_;  ///< last, so that it ends before the shards are closed
};

}  // namespace multicard
