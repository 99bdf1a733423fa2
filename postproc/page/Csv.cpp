#include "postproc/page/CsvText.hpp"
#include "postproc/page/StudyColumns.hpp"
#include "postproc/page/Tables.hpp"

namespace multicard::post {

namespace {

/// The header, then a line for each of the `rows` of every study. `columns_of(study, number)` defines them.
template <class ColumnsOf, class Row>
CsvText csv_of(const Collection& collection, const ColumnsOf& columns_of, std::vector<Row> Study::*rows) {
  CsvText text;
  for (std::size_t i = 0; i < collection.studies.size(); ++i) {
    const Study& study = collection.studies[i];
    const auto columns = columns_of(study, i + 1);
    for (const Row& row : study.*rows)
      text.add(csv_row(columns, row));
  }
  return text;
}

}  // namespace

std::string runs_csv(const Collection& collection) {
  const std::vector<std::string> axes = axis_keys(collection);
  const auto columns = [&](const Study& study, std::size_t number) { return run_columns(study, number, axes); };
  return csv_of(collection, columns, &Study::runs).text();
}

std::string cells_csv(const Collection& collection) {
  const std::vector<std::string> axes = axis_keys(collection);
  const auto columns = [&](const Study& study, std::size_t number) { return cell_columns(study, number, axes); };
  return csv_of(collection, columns, &Study::cells).text();
}

std::string options_csv(const Collection& collection) {
  const auto columns = [](const Study&, std::size_t number) { return option_columns(number); };
  CsvText text = csv_of(collection, columns, &Study::effects);
  // A table without lines still has its header: programs read it by name, and write_pages() knows the report's files by
  // it.
  text.add_header(csv_row(option_columns(), OptionEffect{}));
  return text.text();
}

}  // namespace multicard::post
