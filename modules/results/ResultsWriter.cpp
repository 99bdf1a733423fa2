#include "results/ResultsWriter.hpp"

#include <optional>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "comm/Agreement.hpp"
#include "comm/Packing.hpp"
#include "comm/Watchdog.hpp"
#include "io/AtomicFile.hpp"
#include "io/Hdf5.hpp"
#include "io/OwnFiles.hpp"
#include "io/Seal.hpp"
#include "results/ResultsReader.hpp"
#include "results/RunFrame.hpp"
#include "results/Schema.hpp"

namespace multicard {

namespace {

void write_row(Hdf5Dataset& dataset, std::uint64_t row, const ColumnValue& value) {
  const auto put = [&]<class T>(std::span<const T> values) {
    const bool is_matrix = dataset.dims().size() == 2;
    dataset.write<T>(is_matrix ? Extents{row, 0} : Extents{row}, is_matrix ? Extents{1, values.size()} : Extents{1},
                     values);
  };
  if (const auto* integer = std::get_if<std::int64_t>(&value)) put(std::span(integer, 1));
  if (const auto* real = std::get_if<double>(&value)) put(std::span(real, 1));
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) put(std::span(*integers));
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) put(std::span(*reals));
}

/// Every rank writes its own rows, each a contiguous piece of the file. All ranks open all datasets, because that is
/// collective; a rank whose write fails keeps opening and throws at the end.
void write_rows(Hdf5File& file, const std::string& run, const Communicator& communicator, const RunLayout& layout,
                const RankRows& rows) {
  std::map<int, RankColumns> columns;
  for (const auto& [row, record] : rows)
    columns[row] = to_columns(record);
  std::optional<Error> error;
  for (const auto& [path, column] : layout.columns) {
    Hdf5Dataset dataset = file.open_dataset(run + "/" + path);
    for (const auto& [row, own] : columns) {
      const auto found = own.find(path);
      if (found == own.end() || error) continue;
      try {
        write_row(dataset, static_cast<std::uint64_t>(row), found->second);
      } catch (const Error& first) {
        error = first;
      }
    }
  }
  agree_on(communicator, error);
}

/// Collective. On rank 0 the tables that ranks recorded, by path: of all ranks, each with its rank in a column.
std::map<std::string, Table> tables_of_ranks(const Communicator& communicator, const RankRows& rows) {
  Packer packer;
  for (const auto& [row, record] : rows) {
    RankRecord tables;
    tables.tables = record.tables;
    packer(row);
    packer(to_bytes(tables));
  }
  std::map<std::string, std::map<int, RankTable>> by_path;
  for (const std::string& bytes : communicator.gather(packer.take())) {
    for (Unpacker unpacker(bytes); !unpacker.finished();) {
      int row = 0;
      std::string record;
      unpacker(row);
      unpacker(record);
      for (auto& [path, table] : record_from_bytes(record).tables)
        by_path[path][row] = std::move(table);
    }
  }
  std::map<std::string, Table> tables;
  for (const auto& [path, of_ranks] : by_path)
    tables[path] = table_of_ranks(of_ranks);
  return tables;
}

/// What has the name by now may be another program's.
void check_place(const std::string& path) {
  if (is_taken(path) && is_taken(end_of_links(path)) && !is_results_file(path))
    throw DataError(fmt::format("{} cannot be replaced", path), "multicard did not write it",
                    "Move it away and start the same command again.");
}

/// Collective. Gives the closed file its checksum and its name.
void commit_sealed(PendingFile& pending, const std::string& path, const Communicator& communicator) {
  communicator.barrier();  // a rank that still writes would change what is summed
  agreed(communicator, [&] {
    if (!communicator.is_root()) return;
    check_place(path);
    seal(pending.path());
  });
  pending.commit();
}

/// A results file that is put together by one process.
class Assembly {
 public:
  Assembly(const std::string& path, const Provenance& provenance)
      : path_(path), pending_(path), file_(Hdf5File::create(pending_.path())) {
    write_file_frame(file_, provenance);
  }

  /// \param rename the new name of the file's runs, where it has one
  void take(const std::string& partial, const std::optional<std::string>& rename = std::nullopt) {
    check_seal(partial);
    const Hdf5File source = Hdf5File::open_read(partial);
    for (const std::string& run : source.children(schema::kRuns)) {
      const std::string name = rename.value_or(run);
      require_new(name, partial);
      file_.copy_from(source, run_path(run), run_path(name));
    }
  }

  void add_frames(const std::vector<RunSummary>& summaries) {
    for (const RunSummary& summary : summaries) {
      require_new(summary.name, "those without columns");
      write_run_frame(file_, summary, {}, {});
    }
  }

  void add(const TableGroup& group) { write_group(file_, group.path, group.attributes, group.tables); }

  void commit() {
    file_.close();
    commit_sealed(pending_, path_, Communicator::null());
  }

 private:
  void require_new(const std::string& run, const std::string& source) const {
    if (file_.exists(run_path(run)))
      throw DataError(fmt::format("{}: two runs are named {}", path_, run), fmt::format("the second is of {}", source));
  }

  std::string path_;
  PendingFile pending_;
  Hdf5File file_;
};

}  // namespace

void write_results(const std::string& path, const Communicator& communicator, const Provenance& provenance,
                   const RunSummary& summary, const RankRows& rows) {
  // The steps of a results file: agree on the shape of all datasets; rank 0 makes them, and closes the file; all ranks
  // open it and write their own rows; all close it; rank 0 seals it, and it gets its name. A failure at any point is
  // thrown on all ranks, and the temporary file is removed.
  const RunLayout layout = agree_on_layout(communicator, rows);
  const std::map<std::string, Table> tables = tables_of_ranks(communicator, rows);
  const std::string run = run_path(communicator.broadcast(summary.name));
  const Watchdog::LongerTimeout longer_timeout(communicator.watchdog(), kDiskTimeoutS);
  PendingFile pending(path, communicator);
  // Rank 0 makes the structure alone: hundreds of small collective operations would cost more and say nothing new.
  agreed(communicator, [&] {
    if (!communicator.is_root()) return;
    Hdf5File file = Hdf5File::create(pending.path());
    write_file_frame(file, provenance);
    write_run_frame(file, summary, layout, tables);
    file.close();
  });
  Hdf5File file = Hdf5File::open_update(pending.path(), communicator);
  write_rows(file, run, communicator, layout, rows);
  file.close();
  commit_sealed(pending, path, communicator);
}

void write_results(const std::string& path, const Communicator& communicator, const Provenance& provenance,
                   const RunSummary& summary, const RankRecord& record) {
  write_results(path, communicator, provenance, summary, RankRows{{communicator.rank(), record}});
}

void assemble_results(const std::string& path, const std::vector<std::string>& partial_files,
                      const Provenance& provenance, const std::vector<RunSummary>& failed) {
  Assembly assembly(path, provenance);
  for (const std::string& partial : partial_files)
    assembly.take(partial);
  assembly.add_frames(failed);
  assembly.commit();
}

void assemble_results(const std::string& path, const std::vector<RenamedResults>& parts, const Provenance& provenance,
                      const std::vector<RunSummary>& unstored, const TableGroup& group) {
  Assembly assembly(path, provenance);
  for (const RenamedResults& part : parts)
    assembly.take(part.path, part.run);
  assembly.add_frames(unstored);
  assembly.add(group);
  assembly.commit();
}

}  // namespace multicard
