#include "postproc/page/Columns.hpp"
#include "postproc/page/PageTables.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/DataSets.hpp"

namespace multicard::post {

namespace {

/// A cell with the token counts of its batches.
struct TextCell {
  const Cell* cell;
  TextReport text;
};

Columns<TextCell> data_set_columns(const Study& study) {
  const auto of_cell = [](auto Cell::*member) { return [member](const TextCell& of) { return of.cell->*member; }; };
  const auto of_text = [](auto member) {
    return [member](const TextCell& of) { return std::invoke(member, of.text); };
  };
  const auto longest = [](const TextCell& of) {
    return of.text.longest_row > 0 ? static_cast<double>(of.text.longest_row) : kNone;
  };
  Columns<TextCell> columns{
      {"data set", [&study](const TextCell& of) { return study.configuration(*of.cell).full_label(); }},
      {"ranks", of_cell(&Cell::ranks)},
      {"rows", of_text(&TextReport::rows)},
      {"mean row", of_text(&TextReport::mean_row)},
      {"longest row", longest, Format::count},
      {"tokens", of_text(&TextReport::tokens), Format::count},
      {"trained", of_text(&TextReport::trained_share), Format::percent},
      {"padding", of_text(&TextReport::padding_share), Format::percent},
      {"imbalance", [](const TextCell& of) { return HtmlCell(alike(of.text.imbalance, 1, 3), of.text.imbalance); }},
      {"step, ms", [](const TextCell& of) { return in_milliseconds(of.cell->step_time); }},
      {study.rate_unit(), [](const TextCell& of) { return of.cell->rate; }}};
  if (study.has_scaling()) columns.push_back({"speedup", of_cell(&Cell::speedup), Format::three_digits});
  return columns;
}

}  // namespace

std::string data_sets_html(const Study& study) {
  if (!compares_data_sets(study)) return {};
  std::vector<TextCell> cells;
  for (const Cell& cell : study.cells)
    if (const auto text = text_of_cell(study, cell)) cells.push_back({&cell, *text});
  return subheading("Data sets") + list(texts_of(data_set_findings(study))) +
         table(html_table("data_sets",
                          "Data sets: rows and tokens are means per step over all ranks; imbalance is the tokens of "
                          "the rank with most over the mean rank's.",
                          data_set_columns(study), cells));
}

}  // namespace multicard::post
