#include "tasks/language/LanguageTask.hpp"

#include <fmt/format.h>

#include "base/Log.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "device/DeviceError.hpp"
#include "io/Sha256.hpp"
#include "tasks/language/ReferencePass.hpp"
#include "text/tokenizer/Tokenizer.hpp"

namespace multicard {

namespace {

RowOptions row_options(const DataOptions& data, std::optional<std::int64_t> limit) {
  RowOptions rows;
  rows.packing = data.packing;
  rows.max_length = data.max_length;
  rows.overlong = data.overlong;
  rows.limit = limit;
  return rows;
}

TextSourceOptions training_options(const RunOptions& options, int num_ranks, at::Device device) {
  const DataOptions& data = options.data;
  const bool is_pinned = device.is_cuda() && data.pin_memory;
  TextSourceOptions source;
  source.shards = data.training_files();
  for (const WeightedFiles& set : data.mix)
    source.weights.push_back(set.weight);
  if (options.method.is_preference()) source.content = RowContent::preference_pairs;
  source.reading = data.reading;
  source.rows = row_options(data, data.limit);
  source.loader = {data.prefetch, is_pinned ? HostMemory::pinned : HostMemory::pageable};
  source.order.global_batch = options.run.batch_over(num_ranks);
  source.order.seed = static_cast<std::uint64_t>(options.run.seed);
  source.order.shuffle = data.shuffle;
  source.order.drop_last = data.drop_last;
  return source;
}

TextSourceOptions test_options(const RunOptions& options, TextSourceOptions source) {
  source.shards = {*options.data.test};
  source.weights.clear();
  source.rows.limit = options.evaluate.limit;
  source.order.shuffle = false;
  source.order.drop_last = false;
  return source;
}

}  // namespace

std::unique_ptr<TextDataSource> open_training_set(const RunOptions& options, const Communicator& communicator,
                                                  at::Device device, const std::optional<TextSetScan>& scan) {
  return TextDataSource::open(training_options(options, communicator.size(), device), communicator, device, scan);
}

LanguageTask::LanguageTask(const RunOptions& options, const Communicator& communicator, at::Device device,
                           const ShardRanks& sharding, std::shared_ptr<LanguageModel> model, const TaskScan& scan)
    : options_(options), communicator_(communicator), device_(device) {
  train_ = open_training_set(options, communicator, device, scan.training_text);
  if (options.data.test)
    test_ = TextDataSource::open(test_options(options, training_options(options, communicator.size(), device)),
                                 communicator, device, scan.test_text);
  // By itself, since loading is collective where weights are split.
  if (sharding.group != nullptr && !model)
    agreed(communicator_, [&] { with_known_errors([&] { LanguageModel::check_files(options_); }); });
  // Groups of ranks read by themselves, from disks that differ.
  agreed_after_long_work(communicator_, [&] {
    // Weights come last: data that does not fit is found in seconds, a model of many gigabytes is read for minutes.
    const bool is_known = model != nullptr;
    model_ = model ? std::move(model)
                   : with_known_errors([&] { return std::make_shared<LanguageModel>(options_, device, sharding); },
                                       MemoryUse::setup);
    model_->base_identity().start(communicator_);
    check_vocabulary(*train_);
    if (test_) check_vocabulary(*test_);
    if (!communicator_.is_root() || is_known) return;
    warn_of_tokenizers();
    if (options_.method.is_preference() && options_.method.dropout > 0)
      log_warning("method.dropout is not applied: preference pairs are compared with a reference, without dropout");
  });
  const TokenSetInfo& info = train_->shards().info();
  if (options_.evaluate.questions || !options_.evaluate.prompts.empty())
    generation_evaluation_ =
        std::make_unique<GenerationEvaluation>(options_.evaluate, options_.model.path, info.template_name,
                                               info.template_date, model_->network(), communicator_);
}

/// All ranks need it where one does: a task may move to ranks that have not computed anything yet.
bool LanguageTask::needs_table(bool has_one) const {
  return communicator_.allreduce(has_one ? 0 : 1, ReduceOp::max) > 0;
}

// The table must be that of the model before training. At the start the network itself is that model; of a resumed run
// reference_table() takes the file, the network with its adapters switched off, or the start loaded once more.
void LanguageTask::prepare(Weights weights) {
  if (!options_.method.is_preference() || options_.method.preference.reference != Reference::cached) return;
  Preference& preference = *model_->preference();
  if (needs_table(preference.has_training_reference())) {
    const SourceOfPairs pairs{*train_, training_options(options_, communicator_.size(), device_)};
    preference.set_training_reference(reference_table(*model_, weights, pairs, communicator_));
  }
  prepare_test_set(weights);
}

void LanguageTask::prepare_test_set(Weights weights) {
  if (!test_ || !options_.method.is_preference() || options_.method.preference.reference != Reference::cached) return;
  Preference& preference = *model_->preference();
  if (!needs_table(preference.has_test_reference())) return;
  const TextSourceOptions training = training_options(options_, communicator_.size(), device_);
  const SourceOfPairs pairs{*test_, test_options(options_, training)};
  preference.set_test_reference(reference_table(*model_, weights, pairs, communicator_));
}

TaskScan LanguageTask::scan() const {
  TaskScan scan;
  scan.training_text = train_->scan();
  if (test_) scan.test_text = test_->scan();
  return scan;
}

void LanguageTask::check_vocabulary(const TextDataSource& set) const {
  const std::int64_t size = model_->network().config().vocabulary_size;
  if (set.largest_id() >= size)
    throw DataError(fmt::format("{} holds token {}, but the model has a vocabulary of {}", set.shards().files().front(),
                                set.largest_id(), size),
                    "it was made with the tokenizer of another model",
                    "Prepare the text with --tokenizer " + options_.model.path + ".");
  const std::int64_t most = model_->network().config().max_positions;
  if (const std::int64_t longest = set.rows().longest_sequence(); longest > most)
    throw UsageError(fmt::format("the longest sequence has {} tokens, but the model has {} positions", longest, most),
                     "", fmt::format("Set data.max_length={}.", most));
}

/// Ids of another tokenizer can all be in the vocabulary and mean other texts. Only a warning: a tokenizer that was
/// saved again is another file and the same tokenizer.
void LanguageTask::warn_of_tokenizers() const {
  const auto warn = [](const std::string& one, const std::string& other) {
    log_warning(
        fmt::format("{} was made with a different tokenizer file from {}: unless both give the same ids, the "
                    "model reads different text",
                    one, other));
  };
  const TokenSetInfo& info = train_->shards().info();
  const std::vector<std::string>& templates = train_->shards().templates_of_sets();
  for (std::size_t set = 0; set < templates.size(); ++set)
    if (!templates[set].empty() && templates[set] != info.template_name)
      log_warning(fmt::format("{} has the template {}: prompts use the template {}, that of the run",
                              train_->shards().first_file_of(set), templates[set], info.template_name));
  const std::optional<std::string> file = Tokenizer::file_in(options_.model.path);
  if (file && !info.tokenizer_sha256.empty() && sha256_of_file(*file) != info.tokenizer_sha256)
    warn(train_->shards().files().front(), *file);
  if (!test_) return;
  const TokenSetInfo& test = test_->shards().info();
  if (test.tokenizer_sha256 != info.tokenizer_sha256)
    warn(test_->shards().files().front(), train_->shards().files().front());
  else if (test.template_name != info.template_name)
    log_warning(fmt::format(
        "the test set has the template {}, the training set {}: the test loss is for differently formatted prompts",
        test.template_name, info.template_name));
  else if (test.template_date != info.template_date)
    log_warning("the template wrote different dates into the test set and the training set (prepare text --date)");
}

}  // namespace multicard
