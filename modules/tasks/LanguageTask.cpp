#include "tasks/LanguageTask.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>

#include "base/Blocks.hpp"
#include "base/Log.hpp"
#include "comm/Agreement.hpp"
#include "device/Readback.hpp"
#include "io/Bytes.hpp"
#include "io/Sha256.hpp"
#include "tasks/DataReading.hpp"
#include "tasks/StepSeed.hpp"
#include "text/Tokenizer.hpp"

namespace multicard {

namespace {

Sampler training_order(const RunOptions& options, std::int64_t rows, int ranks) {
  SamplerOptions order;
  order.num_rows = rows;
  order.global_batch = options.run.batch_over(ranks);
  order.seed = static_cast<std::uint64_t>(options.run.seed);
  order.shuffle = options.data.shuffle;
  order.drop_last = options.data.drop_last;
  return Sampler(order);
}

Sampler test_order(const RunOptions& options, std::int64_t rows, int ranks) {
  SamplerOptions order;
  order.num_rows = rows;
  order.global_batch = options.run.batch_over(ranks);
  order.shuffle = false;
  return Sampler(order);
}

RowOptions row_options(const DataOptions& data, std::optional<std::int64_t> limit) {
  RowOptions rows;
  rows.packing = data.packing;
  rows.max_length = data.max_length;
  rows.overlong = data.overlong == "drop" ? Overlong::drop : data.overlong == "error" ? Overlong::error : Overlong::cut;
  rows.limit = limit;
  return rows;
}

}  // namespace

double TextTotals::perplexity() const {
  return std::exp(loss);
}

Evaluation TextTotals::evaluation() const {
  return {loss, sequences, {{"perplexity", perplexity()}}, -loss};
}

LanguageTask::TextSet::TextSet(const std::string& pattern, const RunOptions& options, std::optional<std::int64_t> limit,
                               const Communicator& communicator,
                               Sampler (*order)(const RunOptions&, std::int64_t rows, int ranks))
    : shards(pattern, communicator, shard_reading(options.data)),
      rows(shards, row_options(options.data, limit), communicator),
      sampler(agreed(communicator, [&] { return order(options, rows.num_rows(), communicator.size()); })) {}

LanguageTask::LanguageTask(const RunOptions& options, const Communicator& communicator, at::Device device)
    : options_(options),
      communicator_(communicator),
      device_(device),
      train_(options.data.train, options, options.data.limit, communicator, training_order),
      uploader_(make_batch_uploader(device)) {
  if (options_.data.test)
    test_.emplace(*options_.data.test, options_, options_.evaluate.limit, communicator_, test_order);
  agreed(communicator_, [&] {
    model_ = std::make_unique<LanguageModel>(options_, device_, communicator_);
    check_vocabulary(train_);
    if (test_) check_vocabulary(*test_);
    if (communicator_.is_root()) warn_of_tokenizers();
  });
  if (options_.evaluate.questions || !options_.evaluate.prompts.empty())
    interview_ = std::make_unique<Interview>(options_.evaluate, options_.model.path, train_.shards.info().template_name,
                                             train_.shards.info().template_date, model_->network(), communicator_);
}

void LanguageTask::check_vocabulary(const TextSet& set) const {
  const std::int64_t size = model_->network().config().vocabulary_size;
  if (set.shards.info().largest_id >= size)
    throw DataError(fmt::format("{} holds token {}, but the model has a vocabulary of {}", set.shards.files().front(),
                                set.shards.info().largest_id, size),
                    "it was made with the tokenizer of another model",
                    "Prepare the text with --tokenizer " + options_.model.path + ".");
  const std::int64_t most = model_->network().config().max_positions;
  if (const std::int64_t longest = set.rows.longest_sequence(); longest > most)
    throw UsageError(fmt::format("the longest sequence has {} tokens, but the model has {} positions", longest, most),
                     "", fmt::format("Set data.max_length={}.", most));
}

/// Ids of another tokenizer can all be in the vocabulary and mean other texts. Only a warning: a tokenizer that was
/// saved again is another file and the same tokenizer.
void LanguageTask::warn_of_tokenizers() const {
  const auto warn = [](const std::string& one, const std::string& other) {
    log_warning(
        fmt::format("{} was made with another tokenizer file than {}: unless both give the same ids, the model "
                    "reads other texts than were written",
                    one, other));
  };
  const TokenSetInfo& info = train_.shards.info();
  const std::optional<std::string> file = Tokenizer::file_in(options_.model.path);
  if (file && !info.tokenizer_sha256.empty() && sha256_of_file(*file) != info.tokenizer_sha256)
    warn(train_.shards.files().front(), *file);
  if (!test_) return;
  const TokenSetInfo& test = test_->shards.info();
  if (test.tokenizer_sha256 != info.tokenizer_sha256)
    warn(test_->shards.files().front(), train_.shards.files().front());
  else if (test.template_name != info.template_name)
    log_warning(
        fmt::format("the test set has the template {}, the training set {}: the test loss is about other prompts",
                    test.template_name, info.template_name));
  else if (test.template_date != info.template_date)
    log_warning("the template wrote another date into the test set than into the training set (prepare text --date)");
}

TextLoaderOptions LanguageTask::loader_options() const {
  const bool pinned = device_.is_cuda() && options_.data.pin_memory;
  return {options_.data.prefetch, pinned ? HostMemory::pinned : HostMemory::pageable};
}

void LanguageTask::start_reading(const ReadPlan& plan) {
  plan_ = plan;
  if (plan.reading == Reading::none) return;
  const bool part = plan.reading == Reading::part;
  loader_ =
      std::make_unique<TextLoader>(train_.shards, train_.rows, train_.sampler, loader_options(), part ? plan.rank : 0,
                                   part ? plan.num_ranks : 1, plan.first_step, plan.last_step);
}

Batch LanguageTask::next() {
  TextBatch read = loader_->next().value();
  Batch batch;
  batch.step = read.step;
  batch.epoch = read.epoch;
  batch.num_rows = read.num_rows;
  batch.global_rows = read.global_rows;
  batch.inputs = std::move(read.tokens);
  batch.targets = std::move(read.targets);
  batch.global_targets = read.global_targets;
  batch.shapes = std::move(read.shapes);
  return own_rows(std::move(batch), plan_);
}

Batch LanguageTask::allocate(std::int64_t step, std::int64_t num_rows) {
  const std::vector<RowShape> shapes = shapes_of_step(train_.rows, train_.sampler, step);
  const Block own = block_of(static_cast<std::int64_t>(shapes.size()), plan_.rank, plan_.num_ranks);
  const auto words = at::TensorOptions().dtype(at::kLong).device(device_);
  Batch batch;
  batch.step = step;
  batch.epoch = train_.sampler.epoch_of(step);
  batch.num_rows = num_rows;
  batch.global_rows = static_cast<std::int64_t>(shapes.size());
  batch.inputs = at::empty({num_rows, width_of(shapes)}, words);
  batch.targets = at::empty_like(batch.inputs);
  batch.global_targets = targets_of(shapes);
  batch.shapes.assign(shapes.begin() + own.first, shapes.begin() + own.first + own.count);
  return batch;
}

Batch LanguageTask::to_device(Batch batch) {
  uploader_->start({batch.inputs, batch.targets});
  std::vector<at::Tensor> moved = uploader_->take();
  batch.inputs = std::move(moved[0]);
  batch.targets = std::move(moved[1]);
  return batch;
}

Batch LanguageTask::finish_input(Batch batch) {
  return batch;
}

void LanguageTask::begin_step(std::int64_t step) {
  step_seed_ = step_seed(options_.run.seed, step, plan_.rank);
  num_forwards_ = 0;
}

Loss LanguageTask::forward(const Batch& batch) {
  Llama& network = model_->network();
  network.set_dropout_seed(micro_batch_seed(step_seed_, num_forwards_++));
  const std::int64_t width = width_of(batch.shapes);  // padding reaches the longest row of the micro-batch only
  const TextInput input{batch.inputs.narrow(1, 0, width), batch.targets.narrow(1, 0, width), batch.shapes};
  Loss loss{network.loss_sum(input).div(static_cast<double>(batch.global_targets))};
  for (const RowShape& row : batch.shapes) {
    loss.counts.tokens += row.num_tokens();
    loss.counts.trained += row.num_targets;
  }
  loss.counts.computed = batch.num_rows * width;
  return loss;
}

std::optional<Evaluation> LanguageTask::evaluate() {
  if (!test_) return std::nullopt;
  return score_test_set().evaluation();
}

TextTotals LanguageTask::score_test_set() {
  const at::NoGradGuard no_grad;
  Llama& network = model_->network();
  TextLoader loader(test_->shards, test_->rows, test_->sampler, loader_options(), communicator_.rank(),
                    communicator_.size(), 0, test_->sampler.steps_per_epoch());
  network.set_training(Mode::evaluate);
  BatchSums losses(device_, 1);
  while (const std::optional<TextBatch> read = loader.next()) {
    uploader_->start({read->tokens, read->targets});
    const std::vector<at::Tensor> moved = uploader_->take();
    const std::int64_t rows = std::max<std::int64_t>(1, options_.run.micro_batch.value_or(read->num_rows));
    for (std::int64_t first = 0; first < read->num_rows; first += rows) {
      const std::int64_t count = std::min(rows, read->num_rows - first);
      const auto shapes =
          std::span(read->shapes).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
      const std::int64_t width = width_of({shapes.begin(), shapes.end()});
      const auto part = [&](const at::Tensor& all) { return all.narrow(0, first, count).narrow(1, 0, width); };
      losses.add(network.loss_sum({part(moved[0]), part(moved[1]), shapes}));
    }
  }
  network.set_training(Mode::train);
  std::array<double, 1> sum{losses.finish().front()};
  communicator_.allreduce(std::span<double>(sum), ReduceOp::sum);
  const TextRows& rows = test_->rows;
  return {sum[0] / static_cast<double>(rows.num_targets()), rows.num_sequences(), rows.num_tokens(),
          rows.num_targets()};
}

}  // namespace multicard
