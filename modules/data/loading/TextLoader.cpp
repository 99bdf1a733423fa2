#include "data/loading/TextLoader.hpp"

#include <algorithm>
#include <stdexcept>

#include "base/Blocks.hpp"
#include "data/loading/Prefetcher.hpp"

namespace multicard {

namespace {

std::int64_t most_rows(const Sampler& sampler, int rank, int num_ranks) {
  const std::int64_t largest_batch = std::min(sampler.options().global_batch, sampler.options().num_rows);
  return block_of(largest_batch, rank, num_ranks).count;
}

}  // namespace

std::vector<RowShape> shapes_of_step(const TextRows& rows, const Sampler& sampler, std::int64_t step) {
  std::vector<RowShape> shapes;
  for (const std::int64_t row : sampler.rows(step))
    shapes.push_back(rows.shape(row));
  return shapes;
}

std::int64_t width_of(const std::vector<RowShape>& shapes) {
  std::int64_t width = 0;
  for (const RowShape& shape : shapes)
    width = std::max(width, shape.num_tokens());
  return width;
}

std::int64_t loader_bytes(const TextLoaderOptions& options, std::int64_t num_rows, std::int64_t width) {
  constexpr std::int64_t kWithCaller = 2, kTensors = 2;
  const std::int64_t ahead = std::max(1, options.prefetch);
  return (ahead + kWithCaller) * kTensors * num_rows * width * std::int64_t{sizeof(std::int64_t)};
}

/// Makes one rank's batches, one at a time.
class TextLoader::Engine {
 public:
  Engine(const RowShards& shards, const TextRows& rows, const Sampler& sampler, const TextLoaderOptions& options,
         int rank, int num_ranks, std::int64_t first_step, std::int64_t last_step)
      : shards_(shards),
        rows_(rows),
        sampler_(sampler),
        rank_(rank),
        num_ranks_(num_ranks),
        pool_(std::max<std::int64_t>(1, most_rows(sampler, rank, num_ranks) * rows.longest_row()), at::kLong,
              options.memory),
        times_(options.times),
        ahead_([this](std::int64_t step) { return make(step); }, options.prefetch, first_step, last_step) {}

  std::optional<TextBatch> next() { return ahead_.next(); }

 private:
  TextBatch make(std::int64_t step);
  void fill(std::int64_t row, std::span<std::int64_t> tokens, std::span<std::int64_t> targets);

  RowShards shards_;
  const TextRows& rows_;
  Sampler sampler_;
  int rank_, num_ranks_;
  BatchPool pool_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint8_t> mask_;
  LoadingTimes* times_;
  Prefetcher<TextBatch> ahead_;  ///< last: its thread uses the others
};

// Shapes of all ranks' rows are known without reading them: global_targets needs no collective, and the loss of every
// rank is divided by the same number.
TextBatch TextLoader::Engine::make(std::int64_t step) {
  const std::vector<RowShape> all = shapes_of_step(rows_, sampler_, step);
  const std::vector<std::int64_t> mine = sampler_.part(step, rank_, num_ranks_);
  TextBatch batch;
  batch.step = step;
  batch.epoch = sampler_.epoch_of(step);
  batch.num_rows = static_cast<std::int64_t>(mine.size());
  batch.global_rows = static_cast<std::int64_t>(all.size());
  batch.global_targets = num_targets(all);
  const std::int64_t width = width_of(all);
  batch.tokens = pool_.take({batch.num_rows, width}, {width, 1});
  batch.targets = pool_.take({batch.num_rows, width}, {width, 1});
  const auto row_of = [&](const at::Tensor& tensor, std::size_t place) {
    return std::span(tensor.mutable_data_ptr<std::int64_t>() + static_cast<std::int64_t>(place) * width,
                     static_cast<std::size_t>(width));
  };
  for (std::size_t i = 0; i < mine.size(); ++i) {
    batch.shapes.push_back(rows_.shape(mine[i]));
    batch.rows.push_back(mine[i]);
    fill(mine[i], row_of(batch.tokens, i), row_of(batch.targets, i));
  }
  return batch;
}

// The mask says which tokens are targets, the batch at which position each is predicted: position i predicts token i +
// 1 of the same sequence. The last token of a sequence predicts nothing, also where another sequence follows in the
// row.
void TextLoader::Engine::fill(std::int64_t row, std::span<std::int64_t> tokens, std::span<std::int64_t> targets) {
  std::size_t place = 0;
  for (const SequencePart& part : rows_.parts(row)) {
    const auto length = static_cast<std::size_t>(part.length);
    ids_.resize(length);
    mask_.resize(length);
    const TimePoint start = SteadyClock::now();
    shards_.holding(part.half).read(part.sequence, ids_, mask_);
    const TimePoint is_read = SteadyClock::now();
    if (times_)
      times_->add(LoadingStage::read, start, static_cast<std::int64_t>(ids_.size() * sizeof(ids_[0]) + mask_.size()));
    std::copy(ids_.begin(), ids_.end(), tokens.begin() + static_cast<std::ptrdiff_t>(place));
    for (std::size_t i = 0; i < length; ++i)
      targets[place + i] = i + 1 < length && mask_[i + 1] != 0 ? std::int64_t{ids_[i + 1]} : kNoTarget;
    place += length;
    if (times_) times_->add(LoadingStage::transform, is_read, 0);
  }
  std::fill(tokens.begin() + static_cast<std::ptrdiff_t>(place), tokens.end(), 0);
  std::fill(targets.begin() + static_cast<std::ptrdiff_t>(place), targets.end(), kNoTarget);
}

TextLoader::TextLoader(const RowShards& shards, const TextRows& rows, const Sampler& sampler,
                       const TextLoaderOptions& options, int rank, int num_ranks, std::int64_t first_step,
                       std::int64_t last_step) {
  if (sampler.options().num_rows != rows.num_rows()) throw std::logic_error("TextLoader: the sampler has other rows");
  engine_ = std::make_unique<Engine>(shards, rows, sampler, options, rank, num_ranks, first_step, last_step);
}

TextLoader::~TextLoader() = default;

std::optional<TextBatch> TextLoader::next() {
  return engine_->next();
}

}  // namespace multicard
