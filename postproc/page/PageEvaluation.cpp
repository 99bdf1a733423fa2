#include <algorithm>

#include "postproc/page/PageTables.hpp"
#include "postproc/page/StudyColumns.hpp"
#include "postproc/study/Evaluation.hpp"

namespace multicard::post {

HtmlTable classes_table(const EvaluationReport& report) {
  return html_table(
      "classes",
      "Each class: precision is the share of what was taken for it that was right, recall the share of it that "
      "was found, with its 95 % interval.",
      class_columns(), report.classes);
}

HtmlTable confused_table(const EvaluationReport& report, std::size_t most) {
  const auto class_of = [&report](std::int64_t number) -> const ClassScore& {
    return report.classes[static_cast<std::size_t>(number)];
  };
  const auto share = [&](const ConfusionCount& entry) {
    return static_cast<double>(entry.count) / static_cast<double>(class_of(entry.actual).samples);
  };
  const Columns<ConfusionCount> columns{
      {"is", [&](const ConfusionCount& entry) { return class_of(entry.actual).name; }},
      {"taken for", [&](const ConfusionCount& entry) { return class_of(entry.predicted).name; }},
      {"samples", &ConfusionCount::count, Format::count},
      {"share of the class", share, Format::percent}};
  std::vector<ConfusionCount> wrong = mistakes(report);
  wrong.resize(std::min(most, wrong.size()));
  return html_table("confusions", "The most frequent confusions.", columns, wrong);
}

}  // namespace multicard::post
