// What a language task says of itself.

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "data/shards/DatasetType.hpp"
#include "tasks/interface/ShardingText.hpp"
#include "tasks/language/LanguageTask.hpp"

namespace multicard {

namespace {

std::string rows_text(const TextRows& rows, const TokenSetInfo& set) {
  std::string left_out;
  if (rows.num_cut() > 0) left_out += fmt::format(", {} cut", grouped(rows.num_cut()));
  if (rows.num_overlong() > 0) left_out += fmt::format(", {} too long", grouped(rows.num_overlong()));
  if (rows.num_without_target() > 0)
    left_out += fmt::format(", {} left out without target", grouped(rows.num_without_target()));
  return fmt::format("{} rows of {} sequences ({} at most {} tokens), {} tokens, {} trained{}",
                     grouped(rows.num_rows()), grouped(rows.num_sequences()), set.dataset_type,
                     grouped(rows.longest_row()), grouped(rows.num_tokens()), grouped(rows.num_targets()), left_out);
}

/// Of each set its part of an epoch, and how often that is all of its rows.
std::string mix_text(const DatasetMixture& mix, const TextRows& rows, const std::vector<WeightedFiles>& sets) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto share = static_cast<double>(mix.shares()[i]), own = static_cast<double>(rows.rows_of_sets()[i]);
    texts.push_back(fmt::format("{} % {} ({} rows an epoch, {} times its {})",
                                significant(100 * share / static_cast<double>(rows.num_rows()), 3), sets[i].files,
                                grouped(mix.shares()[i]), significant(share / own, 3),
                                grouped(rows.rows_of_sets()[i])));
  }
  return join(texts, ", ");
}

std::string adapter_text(const AdapterConfig& adapter) {
  std::string text = fmt::format(" rank {}, alpha {}", adapter.settings.rank, significant(adapter.settings.alpha));
  if (!adapter.settings.patterns.empty()) text += " (others by pattern)";
  if (!adapter.settings.modules_to_save.empty())
    text += fmt::format(", {} whole", join(adapter.settings.modules_to_save, ", "));
  return text;
}

std::string objective_text(const PreferenceOptions& pairs) {
  std::string text = fmt::format("preference pairs, loss {}, beta {}", word_of(pairs.loss, kPreferenceLossWords),
                                 significant(pairs.beta));
  if (pairs.label_smoothing > 0) text += fmt::format(", label smoothing {}", significant(pairs.label_smoothing));
  if (pairs.averages_lengths()) text += ", means over targets";
  return text + fmt::format(", reference {}", word_of(pairs.reference, kReferenceWords));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> LanguageTask::description() const {
  const LlamaConfig& config = model_->network().config();
  std::int64_t trained = 0;
  for (const NamedTensor& entry : model_->network().parameters())
    trained += entry.tensor.numel();
  const auto millions = [](std::int64_t count) { return significant(static_cast<double>(count) / 1e6, 3); };
  const MethodOptions& method = options_.method;
  const bool is_of_pairs = train_->shards().info().dataset_type == name_of(DatasetType::preference);
  std::string method_text(word_of(method.name, kMethodWords));
  if (model_->has_adapters()) method_text += adapter_text(model_->adapter());
  std::vector<std::pair<std::string, std::string>> lines{
      {"model",
       fmt::format("{}, {} M parameters, {} layers, {}", options_.model.path, millions(config.num_parameters()),
                   config.num_layers, word_of(options_.precision, kPrecisionWords))},
      {"method",
       fmt::format("{}, {} M trained ({} %){}", method_text, millions(trained),
                   significant(100.0 * static_cast<double>(trained) / static_cast<double>(config.num_parameters()), 3),
                   options_.model.activation_checkpointing ? ", activation checkpointing" : "")},
      {"data", rows_text(train_->rows(), train_->shards().info()) + (options_.data.packing ? ", packed" : "") +
                   (is_of_pairs && !method.is_preference() ? ", chosen answers of preference pairs" : "")},
      {"test", test_ ? rows_text(test_->rows(), test_->shards().info()) : "none"},
      {"tokens", tokens_text()}};
  if (const std::optional<std::uint64_t> read = model_->bytes_read()) {
    std::string text = sharding_text(model_->shard_ranks(), model_->network().weight_bytes());
    if (*read > 0) text += fmt::format("; {} of files read by rank 0", human_bytes(static_cast<double>(*read)));
    lines.emplace_back("sharding", text);
  }
  if (const std::optional<DatasetMixture>& mix = train_->sampler().mix())
    lines.emplace_back("mix", mix_text(*mix, train_->rows(), options_.data.mix));
  if (method.is_preference()) lines.emplace_back("objective", objective_text(method.preference));
  if (generation_evaluation_) lines.emplace_back("asked", generation_evaluation_->text());
  return lines;
}

/// What the steps that statistics count will read: exactly, as the rows of every step are known.
std::string LanguageTask::tokens_text() const {
  constexpr std::int64_t kMostSteps = 1000;  // counting takes time of its own
  const std::int64_t steps = options_.run.steps.value_or(options_.run.epochs * train_->steps_per_epoch());
  const std::int64_t first = std::min(options_.profile.skip_steps, steps - 1),
                     end = std::min(steps, first + kMostSteps);
  std::int64_t tokens = 0;
  for (std::int64_t step = first; step < end; ++step)
    tokens += train_->work_in(step);
  return fmt::format("{:.1f} per step on average over steps {} to {}",
                     static_cast<double>(tokens) / static_cast<double>(end - first), first, end - 1);
}

std::string LanguageTask::describe(const Evaluation& found) const {
  if (options_.method.is_preference())
    return fmt::format("loss {}, reward margin {}, reward accuracy {} ({} pairs", significant(found.loss),
                       significant(found.values.at(2).second), significant(found.values.at(3).second),
                       grouped(found.samples));
  return fmt::format("loss {}, perplexity {} ({} sequences", significant(found.loss),
                     significant(found.values.front().second), grouped(found.samples));
}

std::map<std::string, std::int64_t> LanguageTask::weight_parts() const {
  return {{"adapters", model_->adapter_bytes()}};
}

// Row by row, since attention is quadratic in the length of each sequence: a mean length would understate it. Packed
// sequences do not attend to each other and count one by one.
double LanguageTask::flops_in(std::int64_t step) const {
  double flops = 0;
  for (const std::int64_t row : train_->sampler().rows(step))
    for (const SequencePart& part : train_->rows().parts(row))
      flops += model_->flops(part.length);
  return flops;
}

std::map<std::string, std::string> LanguageTask::model_identity() const {
  std::map<std::string, std::string> identity = model_->identity();
  const TokenSetInfo& set = train_->shards().info();
  identity[kTemplateOfRun] = set.template_name;
  identity[kTemplateDateOfRun] = set.template_date;
  return identity;
}

void LanguageTask::add_attributes(RunSummary& summary) const {
  const TokenSetInfo& set = train_->shards().info();
  summary.text["model"] = options_.model.path;
  summary.text["architecture"] = name_of(model_->network().config().architecture);
  summary.text["method"] = word_of(options_.method.name, kMethodWords);
  summary.text["dataset"] = set.dataset_type;
  summary.text["template"] = set.template_name;
  summary.text["model_dtype"] = word_of(options_.model.dtype, kWeightDtypeWords);
  summary.integers["packing"] = options_.data.packing ? 1 : 0;
  summary.integers["max_length"] = train_->rows().longest_row();
  summary.integers["num_parameters"] = model_->network().config().num_parameters();
  summary.integers["sequences"] = train_->rows().num_sequences();
}

}  // namespace multicard
