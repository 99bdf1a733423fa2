#include <cmath>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "postproc/reduce/ReduceParts.hpp"

namespace multicard::post {

namespace {

/// The column `name`, which must have `length` rows as the first one.
template <class T>
const std::vector<T>& column(const std::map<std::string, std::vector<T>>& columns, const std::string& table,
                             const std::string& name, std::size_t length) {
  const auto found = columns.find(name);
  if (found == columns.end() || found->second.size() != length)
    throw DataError(fmt::format("the table {} lacks its column '{}'", table, name), "", "Evaluate the model again.");
  return found->second;
}

std::vector<ClassScore> classes_of(const Table& table) {
  static const std::string kTable = "evaluation/classes";
  const auto names = table.text.find("name");
  const std::size_t length = names == table.text.end() ? 0 : names->second.size();
  const auto& name = column(table.text, kTable, "name", length);
  const auto& samples = column(table.integers, kTable, "samples", length);
  const auto& correct = column(table.integers, kTable, "correct", length);
  const auto& predicted = column(table.integers, kTable, "predicted", length);
  const auto& precision = column(table.reals, kTable, "precision", length);
  const auto& recall = column(table.reals, kTable, "recall", length);
  const auto& f1 = column(table.reals, kTable, "f1", length);
  std::vector<ClassScore> out;
  for (std::size_t i = 0; i < length; ++i)
    out.push_back({name[i], samples[i], correct[i], predicted[i], precision[i], recall[i], f1[i]});
  return out;
}

std::vector<ConfusionCount> confusion_of(const Table& table, std::size_t num_classes) {
  static const std::string kTable = "evaluation/confusion";
  const auto counts = table.integers.find("count");
  const std::size_t length = counts == table.integers.end() ? 0 : counts->second.size();
  const auto& count = column(table.integers, kTable, "count", length);
  const auto& actual = column(table.integers, kTable, "actual", length);
  const auto& predicted = column(table.integers, kTable, "predicted", length);
  // Numbers of a file that others may have written index the classes.
  const auto known = [&](std::int64_t number) {
    return number >= 0 && number < static_cast<std::int64_t>(num_classes);
  };
  std::vector<ConfusionCount> out;
  for (std::size_t i = 0; i < length; ++i) {
    if (!known(actual[i]) || !known(predicted[i]))
      throw DataError(fmt::format("{} counts class {} taken for {}", kTable, actual[i], predicted[i]),
                      fmt::format("there are {} classes", num_classes), "Evaluate the model again.");
    if (count[i] > 0) out.push_back({actual[i], predicted[i], count[i]});
  }
  return out;
}

std::int64_t integer(const RunSummary& summary, const char* name) {
  const auto found = summary.integers.find(name);
  return found == summary.integers.end() ? 0 : found->second;
}

EvaluationReport language_evaluation(const RunSummary& summary) {
  EvaluationReport report;
  report.loss = number_in(summary.reals, "loss");
  report.samples = integer(summary, "samples");
  LanguageScore score;
  score.perplexity = number_in(summary.reals, "perplexity");
  score.reward_margin = number_in(summary.reals, "reward_margin");
  score.reward_accuracy = number_in(summary.reals, "reward_accuracy");
  score.tokens = integer(summary, "tokens");
  score.targets = integer(summary, "trained_tokens");
  score.questions = integer(summary, "questions");
  if (score.questions > 0) {
    // The file has the share; the number of hits is a whole one again for Wilson's interval.
    score.hits = std::lround(number_in(summary.reals, "exact_match") * static_cast<double>(score.questions));
    score.exact_match = estimate_of_share(score.hits, score.questions);
  }
  report.language = score;
  return report;
}

}  // namespace

std::optional<EvaluationReport> reduce_evaluation(const RunSummary& summary) {
  if (summary.reals.contains("perplexity") || summary.reals.contains("reward_margin"))
    return language_evaluation(summary);
  const auto classes = summary.tables.find("evaluation/classes");
  if (classes == summary.tables.end()) return std::nullopt;
  EvaluationReport report;
  report.classes = classes_of(classes->second);
  std::int64_t correct = 0;
  for (const ClassScore& score : report.classes) {
    report.samples += score.samples;
    correct += score.correct;
  }
  report.accuracy = estimate_of_share(correct, report.samples);
  report.top5 = number_in(summary.reals, "top5");
  report.loss = number_in(summary.reals, "loss");
  if (const auto confusion = summary.tables.find("evaluation/confusion"); confusion != summary.tables.end())
    report.confusion = confusion_of(confusion->second, report.classes.size());
  return report;
}

}  // namespace multicard::post
