#include <fmt/format.h>

#include "postproc/page/PageTables.hpp"
#include "postproc/page/StudyColumns.hpp"
#include "postproc/study/Ranking.hpp"

namespace multicard::post {

namespace {

constexpr std::size_t kMostRowsUnfolded = 24;

struct OfCell {
  const Cell* cell;
  FilesReport files;
};

Columns<OfCell> columns_of(const Study& study) {
  const auto of = [](auto FilesReport::*member) { return [member](const OfCell& row) { return row.files.*member; }; };
  return {{"configuration", [&study](const OfCell& row) { return study.configuration(*row.cell).full_label(); }},
          {"ranks", [](const OfCell& row) { return row.cell->ranks; }},
          {"kind", of(&FilesReport::kind)},
          {"rank", of(&FilesReport::rank)},
          {"calls", of(&FilesReport::calls), Format::count},
          {"bytes", of(&FilesReport::bytes), Format::bytes},
          {"total, s", of(&FilesReport::seconds), Format::three_digits},
          {"GB/s", [](const OfCell& row) { return row.files.gb_per_s(); }, Format::three_digits},
          {"waiting for the lock, s", of(&FilesReport::lock_seconds), Format::three_digits}};
}

}  // namespace

std::string input_files_html(const Study& study) {
  std::vector<OfCell> rows;
  for (const Cell& cell : study.cells)
    if (!cell.measured.empty())
      for (const FilesReport& files : representative(study, cell).files)
        rows.push_back({&cell, files});
  if (rows.empty()) return {};
  const std::string shown = table(html_table(
      "input_files",
      "Input and files, median run of each cell, each rank. Input: what the threads that make batches took, one after "
      "the other. HDF5: reads and writes of shards, checkpoints' records and other files through the library, which "
      "one thread of a process uses at a time; waiting for the lock is the time before that. GB/s is bytes by seconds, "
      "of files in the memory of the system that of the memory.",
      columns_of(study), rows));
  return rows.size() <= kMostRowsUnfolded ? shown
                                          : folded(fmt::format("Input and files, {} lines", rows.size()), shown);
}

}  // namespace multicard::post
