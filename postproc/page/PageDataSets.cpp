#include "postproc/page/PageDataSets.hpp"

#include <cmath>
#include <optional>

#include "base/Text.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/DataSets.hpp"

namespace multicard::post {

namespace {

HtmlCell number(double value, int digits = 4) {
  return {std::isfinite(value) ? significant(value, digits) : "–", value};
}

HtmlCell whole(double value) {
  return {std::isfinite(value) ? grouped(std::llround(value)) : "–", value};
}

HtmlCell estimate(const Estimate& value, int digits = 4) {
  return {with_interval(value, digits), value.value};
}

HtmlCell share(double value) {
  return {percent(value), value};
}

HtmlTable data_sets_table(const Study& study) {
  HtmlTable out{
      "data_sets",
      "Data sets: rows and tokens are means per step over all ranks; imbalance is the tokens of the rank with most "
      "over the mean rank's. Click a column header to sort.",
      {"data set", "ranks", "rows", "mean row", "longest row", "tokens", "trained", "padding", "imbalance", "step, ms",
       study.rate_unit()},
      {}};
  if (study.has_scaling()) out.head.emplace_back("speedup");
  for (const Cell& cell : study.cells) {
    const std::optional<TextReport> text = text_of_cell(study, cell);
    if (!text) continue;
    std::vector<HtmlCell> row{study.configuration(cell).full_label(),
                              number(cell.ranks),
                              number(text->rows),
                              number(text->mean_row()),
                              whole(text->longest_row > 0 ? static_cast<double>(text->longest_row) : kNone),
                              whole(text->tokens),
                              share(text->trained_share()),
                              share(text->padding_share()),
                              {alike(text->imbalance, 1, 3), text->imbalance},
                              estimate(in_milliseconds(cell.step_time)),
                              estimate(cell.rate)};
    if (study.has_scaling()) row.push_back(estimate(cell.speedup, 3));
    out.rows.push_back(std::move(row));
  }
  return out;
}

}  // namespace

std::string data_sets_html(const Study& study) {
  if (!compares_data_sets(study)) return {};
  return subheading("Data sets") + list(texts_of(data_set_findings(study))) + table(data_sets_table(study));
}

}  // namespace multicard::post
