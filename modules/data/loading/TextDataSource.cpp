#include "data/loading/TextDataSource.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>

#include "base/Blocks.hpp"
#include "base/Error.hpp"
#include "comm/Agreement.hpp"

namespace multicard {

namespace {

/// Collective. One half of the pairs, or the sequences; of which everything is known with a `scan`.
TokenShards open_shards(const TextSourceOptions& options, const Communicator& communicator, TokenPart part,
                        const std::shared_ptr<const TokenSetScan>& scan) {
  return scan ? TokenShards(scan, communicator, options.reading)
              : TokenShards(options.shards, communicator, options.reading, part);
}

/// All ranks see the same numbers.
void check_pairs(const TokenShards& chosen, const TokenShards& rejected) {
  const std::vector<std::int64_t> first = chosen.sequences_of_sets(), second = rejected.sequences_of_sets();
  for (std::size_t set = 0; set < first.size(); ++set)
    if (first[set] != second[set])
      throw DataError(fmt::format("{} is damaged", chosen.first_file_of(set)),
                      fmt::format("it has {} chosen and {} rejected sequences", first[set], second[set]),
                      "Prepare it again.")
          .on_all_ranks();
}

/// None for a single set, which is not mixed.
std::vector<MixedSet> mixed_sets(const std::vector<double>& weights, const TextRows& rows) {
  std::vector<MixedSet> sets;
  for (std::size_t i = 0; weights.size() > 1 && i < weights.size(); ++i)
    sets.push_back({rows.rows_of_sets().at(i), weights[i]});
  return sets;
}

}  // namespace

std::unique_ptr<TextDataSource> TextDataSource::open(const TextSourceOptions& options, const Communicator& communicator,
                                                     at::Device device, const std::optional<TextSetScan>& scan) {
  const TextSetScan known = scan.value_or(TextSetScan{});
  const bool has_pairs = options.content == RowContent::preference_pairs;
  TokenShards shards =
      open_shards(options, communicator, has_pairs ? TokenPart::chosen : TokenPart::sequences, known.tokens);
  std::unique_ptr<TokenShards> rejected;
  if (has_pairs) {
    rejected = std::make_unique<TokenShards>(open_shards(options, communicator, TokenPart::rejected, known.rejected));
    check_pairs(shards, *rejected);
  }
  const RowShards all = rejected ? RowShards(shards, *rejected) : RowShards(shards);
  std::shared_ptr<const TextRows> rows =
      known.rows ? known.rows : std::make_shared<TextRows>(all, options.rows, communicator);
  Sampler sampler = agreed(communicator, [&] {
    SamplerOptions order = options.order;
    order.num_rows = rows->num_rows();
    order.sets = mixed_sets(options.weights, *rows);
    return Sampler(order);
  });
  return std::unique_ptr<TextDataSource>(
      new TextDataSource(std::move(shards), std::move(rejected), std::move(rows), std::move(sampler), options, device));
}

TextDataSource::TextDataSource(TokenShards shards, std::unique_ptr<TokenShards> rejected,
                               std::shared_ptr<const TextRows> rows, Sampler sampler, const TextSourceOptions& options,
                               at::Device device)
    : DataSource(std::move(sampler), device, Finishing::on_host),
      shards_(std::move(shards)),
      rejected_(std::move(rejected)),
      rows_(std::move(rows)),
      loader_options_(options.loader),
      limit_(options.rows.limit) {}

std::int64_t TextDataSource::largest_id() const {
  return std::max(shards_.info().largest_id, rejected_ ? rejected_->info().largest_id : kUnknownId);
}

void TextDataSource::open_loader(int rank, int num_ranks, std::int64_t first_step, std::int64_t last_step) {
  TextLoaderOptions options = loader_options_;
  options.times = &mutable_loading_times();
  loader_ =
      std::make_unique<TextLoader>(row_shards(), rows(), sampler(), options, rank, num_ranks, first_step, last_step);
}

Batch TextDataSource::read() {
  TextBatch text = loader_->next().value();
  Batch batch;
  batch.step = text.step;
  batch.epoch = text.epoch;
  batch.num_rows = text.num_rows;
  batch.global_rows = text.global_rows;
  batch.inputs = std::move(text.tokens);
  batch.targets = std::move(text.targets);
  batch.global_targets = text.global_targets;
  batch.shapes = std::move(text.shapes);
  batch.row_numbers = std::move(text.rows);
  return batch;
}

// The width is that of the whole global batch, as in TextLoader: the root scatters rows of its batch, all equally wide.
Batch TextDataSource::allocate(std::int64_t step) const {
  const std::vector<RowShape> shapes = shapes_of_step(rows(), sampler(), step);
  const Block own = block_of(static_cast<std::int64_t>(shapes.size()), plan().rank, plan().num_ranks);
  Batch batch;
  batch.step = step;
  batch.epoch = sampler().epoch_of(step);
  batch.num_rows = own.count;
  batch.global_rows = static_cast<std::int64_t>(shapes.size());
  batch.inputs = at::empty({own.count, width_of(shapes)}, at::TensorOptions().dtype(at::kLong).device(device()));
  batch.targets = at::empty_like(batch.inputs);
  batch.global_targets = num_targets(shapes);
  batch.shapes.assign(shapes.begin() + own.first, shapes.begin() + own.first + own.count);
  batch.row_numbers = sampler().part(step, plan().rank, plan().num_ranks);
  return batch;
}

std::int64_t TextDataSource::work_in(std::int64_t step) const {
  std::int64_t tokens = 0;
  for (const std::int64_t row : sampler().rows(step))
    tokens += rows_->length(row);
  return tokens;
}

InputMemory text_batch_memory(const TextLoaderOptions& options, const TextStepShape& step, at::Device device) {
  constexpr std::int64_t kTensors = 2;  // tokens and targets
  InputMemory memory;
  memory.host = loader_bytes(options, step.rows_read, step.width);
  if (device.is_cuda())
    memory.device = kBatchesOnDevice * kTensors * std::max(step.rows, step.rows_read) * step.width *
                    std::int64_t{sizeof(std::int64_t)};
  return memory;
}

InputMemory TextDataSource::memory(std::int64_t rows, std::int64_t rows_read) const {
  InputMemory memory = text_batch_memory(loader_options_, {rows, rows_read, rows_->longest_row()}, device());
  memory.kept = kept_bytes(shards_) + (rejected_ ? kept_bytes(*rejected_) : 0);
  return memory;
}

PartShape TextDataSource::part_of(std::span<const std::int64_t> rows) const {
  PartShape part;
  part.rows = static_cast<std::int64_t>(rows.size());
  std::int64_t longest_row = 0, tokens = 0;
  for (const std::int64_t row : rows) {
    std::int64_t length = 0;
    for (const SequencePart& sequence : rows_->parts(row)) {
      length += sequence.length;
      part.targets += sequence.num_targets;
      part.longest = std::max(part.longest, sequence.length);
    }
    tokens += length;
    longest_row = std::max(longest_row, length);
  }
  part.size = rejected_ ? tokens : part.rows * longest_row;
  return part;
}

// Every step of the run is looked at, because the order is known in advance. The four numbers may come from different
// parts, which errs on the safe side.
PartShape TextDataSource::largest_part(std::int64_t rows, const ReadPlan& plan) const {
  constexpr std::int64_t kMostLookups = 4'000'000;  // a fraction of a second
  const std::int64_t steps = plan.last_step - plan.first_step;
  if (steps > kMostLookups / sampler().options().global_batch) return largest_possible(rows);
  PartShape largest;
  for (std::int64_t step = plan.first_step; step < plan.last_step; ++step) {
    const std::vector<std::int64_t> mine = sampler().part(step, plan.rank, plan.num_ranks);
    const std::span<const std::int64_t> all(mine);
    for (std::size_t first = 0; first < all.size(); first += static_cast<std::size_t>(rows)) {
      const auto count = std::min(static_cast<std::size_t>(rows), all.size() - first);
      const PartShape part = part_of(all.subspan(first, count));
      largest = {std::max(largest.rows, part.rows), std::max(largest.size, part.size),
                 std::max(largest.targets, part.targets), std::max(largest.longest, part.longest)};
    }
  }
  return largest;
}

PartShape TextDataSource::largest_possible(std::int64_t rows) const {
  std::vector<std::int64_t> lengths, targets;
  for (std::int64_t row = 0; row < rows_->num_rows(); ++row) {
    const std::array<std::int64_t, 1> one{row};
    const PartShape part = part_of(one);
    lengths.push_back(part.size);
    targets.push_back(part.targets);
  }
  const auto count = std::min(static_cast<std::size_t>(rows), lengths.size());
  const auto largest_sum = [&](std::vector<std::int64_t>& values) {
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count) - 1, values.end(),
                     std::greater<>());
    return std::accumulate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count), std::int64_t{0});
  };
  const auto num_rows = static_cast<std::int64_t>(count);
  const std::int64_t tokens = rejected_ ? largest_sum(lengths) : num_rows * rows_->longest_row();
  return {num_rows, tokens, largest_sum(targets), rows_->longest_sequence()};
}

// Counts instead of a checksum over all tokens, which are too long to read at every start. Weights are among them, as
// they decide which rows a step has.
std::map<std::string, double> TextDataSource::identity() const {
  std::map<std::string, double> numbers{{"data.rows", static_cast<double>(rows_->num_rows())},
                                        {"data.tokens", static_cast<double>(rows_->num_tokens())},
                                        {"data.targets", static_cast<double>(rows_->num_targets())}};
  const std::vector<MixedSet>& sets = sampler().options().sets;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    numbers[fmt::format("data.{}.rows", i)] = static_cast<double>(sets[i].num_rows);
    numbers[fmt::format("data.{}.weight", i)] = sets[i].weight;
  }
  return numbers;
}

/// Of the first `limit` sequences of each set.
std::int64_t TextDataSource::kept_bytes(const TokenShards& shards) const {
  std::int64_t bytes = 0, first = 0;
  for (const std::int64_t sequences : shards.sequences_of_sets()) {
    const std::int64_t taken = std::min(sequences, limit_.value_or(sequences));
    bytes += shards.kept_bytes(first + taken) - shards.kept_bytes(first);
    first += sequences;
  }
  return bytes;
}

}  // namespace multicard
