#include "postproc/Evaluation.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/Axes.hpp"
#include "postproc/Labels.hpp"

namespace multicard::post {

namespace {

HtmlCell number(double value, int digits = 4) {
  return {value == value ? significant(value, digits) : "–", value};
}

HtmlCell count(std::int64_t value) {
  return {grouped(value), static_cast<double>(value)};
}

const std::string& name_of(const EvaluationReport& report, std::int64_t number) {
  return report.classes[static_cast<std::size_t>(number)].name;
}

double share_of_row(const EvaluationReport& report, const ConfusionCount& entry) {
  return static_cast<double>(entry.count) /
         static_cast<double>(report.classes[static_cast<std::size_t>(entry.actual)].samples);
}

/// Mistakes only, the most frequent first.
std::vector<ConfusionCount> mistakes(const EvaluationReport& report) {
  std::vector<ConfusionCount> out;
  std::copy_if(report.confusion.begin(), report.confusion.end(), std::back_inserter(out),
               [](const ConfusionCount& entry) { return entry.actual != entry.predicted; });
  std::stable_sort(out.begin(), out.end(),
                   [](const ConfusionCount& a, const ConfusionCount& b) { return a.count > b.count; });
  return out;
}

/// "3 of 50, 6.0 % (95 % interval 2.1 to 16.2 %)"
std::string exact_match_text(const LanguageScore& score) {
  return fmt::format("{} of {}, {} (95 % interval {:.1f} to {:.1f} %)", grouped(score.hits), grouped(score.questions),
                     percent(score.exact_match.value), 100 * score.exact_match.interval->low,
                     100 * score.exact_match.interval->high);
}

std::string language_sentence(const EvaluationReport& report) {
  const LanguageScore& score = *report.language;
  std::string out =
      fmt::format("Test loss {}, perplexity {} over {} ({}, {} of them targets)", significant(report.loss),
                  significant(score.perplexity), counted(report.samples, "sequence"), counted(score.tokens, "token"),
                  grouped(score.targets));
  if (score.questions > 0) out += "; exact match " + exact_match_text(score);
  return out + ".";
}

}  // namespace

std::string score_sentence(const EvaluationReport& report) {
  if (report.language) return language_sentence(report);
  if (!report.accuracy.known()) return "No sample was evaluated.";
  std::string out = fmt::format("Accuracy {} (95 % interval {} over {})", alike(report.accuracy.value, 1, 4),
                                range_text(report.accuracy, 4), counted(report.samples, "sample"));
  if (report.top5 == report.top5) out += fmt::format(", among the first five {}", significant(report.top5));
  if (report.loss == report.loss) out += fmt::format(", mean loss {}", significant(report.loss));
  return out + ".";
}

std::string confusion_sentence(const EvaluationReport& report) {
  const std::vector<ConfusionCount> wrong = mistakes(report);
  if (wrong.empty()) return "No class is taken for another";
  const ConfusionCount& most = wrong.front();
  return fmt::format("{} is taken for {} most often: {} of {}", name_of(report, most.actual),
                     name_of(report, most.predicted), grouped(most.count),
                     grouped(report.classes[static_cast<std::size_t>(most.actual)].samples));
}

std::string evaluation_name(const RunReport& run) {
  const std::string model = setting(run, "model"), weights = setting(run, "weights");
  std::vector<std::string> parts;
  if (!model.empty()) parts.push_back(short_value(last_name(model)));
  if (!weights.empty() && weights != model) parts.push_back(short_value(weights));
  return parts.empty() ? run.name : join(parts, ", ");
}

std::vector<std::pair<std::string, std::string>> evaluation_facts(const RunReport& run) {
  std::vector<std::pair<std::string, std::string>> facts;
  if (const EvaluationReport& report = *run.evaluation; report.language) {
    const LanguageScore& score = *report.language;
    facts = {{"test loss", significant(report.loss)},
             {"perplexity", significant(score.perplexity)},
             {"sequences", grouped(report.samples)},
             {"tokens", grouped(score.tokens)},
             {"targets", grouped(score.targets)}};
    if (score.questions > 0) facts.emplace_back("exact match", exact_match_text(score));
  }
  for (const char* key : {"model", "weights", "weights_origin", "dataset", "precision", "device", "ranks"})
    if (const std::string value = short_value(setting(run, key)); !value.empty())
      facts.emplace_back(key_label(key), value);
  return facts;
}

HtmlTable classes_table(const EvaluationReport& report) {
  HtmlTable out{
      "Each class: precision is the share of what was taken for it that was right, recall the share of it that "
      "was found, with its 95 % interval. Click a column header to sort.",
      {"class", "samples", "right", "taken for it", "precision", "recall", "F1"},
      {}};
  for (const ClassScore& score : report.classes) {
    const Estimate recall = estimate_of_share(score.correct, score.samples);
    out.rows.push_back({score.name, count(score.samples), count(score.correct), count(score.predicted),
                        number(score.precision), HtmlCell(with_interval(recall, 3), recall.value), number(score.f1)});
  }
  return out;
}

HtmlTable confused_table(const EvaluationReport& report, std::size_t most) {
  HtmlTable out{"What is confused most.", {"is", "taken for", "samples", "share of the class"}, {}};
  for (const ConfusionCount& entry : mistakes(report)) {
    if (out.rows.size() == most) break;
    const double share = share_of_row(report, entry);
    out.rows.push_back({name_of(report, entry.actual), name_of(report, entry.predicted), count(entry.count),
                        HtmlCell(percent(share), share)});
  }
  return out;
}

}  // namespace multicard::post
