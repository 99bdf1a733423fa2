#include "postproc/page/PageEvaluation.hpp"

#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Evaluation.hpp"

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

}  // namespace

HtmlTable classes_table(const EvaluationReport& report) {
  HtmlTable out{
      "classes",
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
  HtmlTable out{
      "confusions", "The most frequent confusions.", {"is", "taken for", "samples", "share of the class"}, {}};
  for (const ConfusionCount& entry : mistakes(report)) {
    if (out.rows.size() == most) break;
    const double share = share_of_row(report, entry);
    out.rows.push_back({name_of(report, entry.actual), name_of(report, entry.predicted), count(entry.count),
                        HtmlCell(percent(share), share)});
  }
  return out;
}

}  // namespace multicard::post
