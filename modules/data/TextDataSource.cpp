#include "data/TextDataSource.hpp"

#include <algorithm>
#include <utility>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "base/Blocks.hpp"
#include "comm/Agreement.hpp"

namespace multicard {

std::unique_ptr<TextDataSource> TextDataSource::open(const TextSourceOptions& options, const Communicator& communicator,
                                                     at::Device device, const std::optional<TextSetScan>& scan) {
  TokenShards shards = scan ? TokenShards(scan->tokens, communicator, options.reading)
                            : TokenShards(options.shards, communicator, options.reading);
  std::shared_ptr<const TextRows> rows =
      scan ? scan->rows : std::make_shared<TextRows>(shards, options.rows, communicator);
  Sampler sampler = agreed(communicator, [&] {
    SamplerOptions order = options.order;
    order.num_rows = rows->num_rows();
    return Sampler(order);
  });
  return std::unique_ptr<TextDataSource>(
      new TextDataSource(std::move(shards), std::move(rows), std::move(sampler), options, device));
}

TextDataSource::TextDataSource(TokenShards shards, std::shared_ptr<const TextRows> rows, Sampler sampler,
                               const TextSourceOptions& options, at::Device device)
    : DataSource(std::move(sampler), device, Finishing::on_host),
      shards_(std::move(shards)),
      rows_(std::move(rows)),
      loader_options_(options.loader),
      limit_(options.rows.limit) {}

void TextDataSource::open_loader(int rank, int num_ranks, std::int64_t first_step, std::int64_t last_step) {
  loader_ =
      std::make_unique<TextLoader>(shards_, rows(), sampler(), loader_options_, rank, num_ranks, first_step, last_step);
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
  return batch;
}

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
  batch.global_targets = targets_of(shapes);
  batch.shapes.assign(shapes.begin() + own.first, shapes.begin() + own.first + own.count);
  return batch;
}

std::int64_t TextDataSource::work_in(std::int64_t step) const {
  std::int64_t tokens = 0;
  for (const std::int64_t row : sampler().rows(step))
    tokens += rows_->length(row);
  return tokens;
}

InputMemory TextDataSource::memory(std::int64_t rows, std::int64_t rows_read) const {
  constexpr std::int64_t kTensors = 2;  // tokens and targets
  InputMemory memory;
  memory.kept = shards_.kept_bytes(limit_);
  memory.host = loader_bytes(loader_options_, *rows_, rows_read);
  if (device().is_cuda())
    memory.device = kBatchesOnDevice * kTensors * std::max(rows, rows_read) * rows_->longest_row() *
                    std::int64_t{sizeof(std::int64_t)};
  return memory;
}

std::map<std::string, double> TextDataSource::identity() const {
  return {{"data.rows", static_cast<double>(rows_->num_rows())},
          {"data.tokens", static_cast<double>(rows_->num_tokens())},
          {"data.targets", static_cast<double>(rows_->num_targets())}};
}

}  // namespace multicard
