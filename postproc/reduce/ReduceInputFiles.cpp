#include "postproc/reduce/ReduceParts.hpp"
#include "results/RankRecord.hpp"

namespace multicard::post {

namespace {

/// "HDF5 read independent" of read_independent.
std::string kind_of(const std::string& prefix, std::string name) {
  for (char& c : name)
    if (c == '_') c = ' ';
  return prefix + " " + name;
}

void add_rows(const RunData& run, const std::string& path, const std::string& prefix, std::vector<FilesReport>& rows) {
  const auto found = run.summary.tables.find(path);
  if (found == run.summary.tables.end() || !is_of_ranks(found->second)) return;
  for (const auto& [rank, table] : tables_by_rank(found->second))
    for (const auto& [key, values] : table.rows)
      rows.push_back({kind_of(prefix, key.front()), rank, number_in(values, "count"), number_in(values, "bytes"),
                      number_in(values, "seconds"), number_in(values, "lock_seconds")});
}

}  // namespace

std::vector<FilesReport> reduce_input_files(const RunData& run) {
  std::vector<FilesReport> rows;
  add_rows(run, "input/stages", "input", rows);
  add_rows(run, "io/hdf5", "HDF5", rows);
  return rows;
}

}  // namespace multicard::post
