#include "postproc/trace/TraceTables.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "postproc/page/CsvText.hpp"
#include "postproc/trace/TableColumns.hpp"

namespace multicard::post {

namespace {

constexpr const char* kUnknownText = "–";

/// Removes the columns that are empty, or of which no row knows a value: those of GPUs where there is none, for
/// instance.
template <class Cell, class TextOf>
void drop_unknown(std::vector<std::string>& head, std::vector<std::vector<Cell>>& rows, const TextOf& text_of) {
  for (std::size_t i = head.size(); i-- > 0 && !rows.empty();) {
    const auto is_unknown = [&](const auto& row) { return text_of(row[i]).empty() || text_of(row[i]) == kUnknownText; };
    if (!std::ranges::all_of(rows, is_unknown)) continue;
    const auto place = static_cast<std::ptrdiff_t>(i);
    head.erase(head.begin() + place);
    for (auto& row : rows)
      row.erase(row.begin() + place);
  }
}

/// The same of a table whose first row is the head.
void drop_unknown(std::vector<std::vector<std::string>>& table) {
  std::vector<std::vector<std::string>> rows(table.begin() + 1, table.end());
  drop_unknown(table.front(), rows, [](const std::string& text) { return text; });
  std::ranges::move(rows, table.begin() + 1);
}

/// `rows_of(profile)` are the table's rows of one rank.
template <class Row, class RowsOf>
ProfileTable table_of(const std::vector<const Profile*>& profiles, const TableWishes& wishes, std::string id,
                      std::string heading, const TableColumns<Row>& table, const RowsOf& rows_of) {
  const auto& columns = table.all();
  ProfileTable out{id,
                   heading,
                   {id, heading, labels_in(kPage, columns), {}},
                   {labels_in(kTerminal, columns)},
                   {},
                   nlohmann::ordered_json::array()};
  CsvText csv;
  const auto is_for = [&](Outputs output) { return (wishes.outputs & output) != 0; };
  for (const Profile* profile : profiles) {
    if (!wishes.only.empty() && wishes.only != id) break;
    std::size_t number = 0;
    for (const Row& row : std::invoke(rows_of, *profile)) {
      const OfRank<Row> ranked{profile->rank, row};
      if (is_for(kCsv)) csv.add(csv_row(columns, ranked));
      if (is_for(kJson)) out.json.push_back(json_row(columns, ranked));
      if (is_for(kPage) && number < kMostRowsOfAPage) out.page.rows.push_back(cells_in(kPage, columns, ranked));
      if (is_for(kTerminal) && number < wishes.most) out.text.push_back(texts_in(kTerminal, columns, ranked));
      ++number;
    }
  }
  drop_unknown(out.page.head, out.page.rows, [](const HtmlCell& cell) { return cell.text; });
  drop_unknown(out.text);
  csv.add_header(csv_row(columns, OfRank<Row>{}));
  out.csv = csv.text();
  return out;
}

double ratio(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : kNone;
}

TableColumns<GpuTime> gpu_columns() {
  TableColumns<GpuTime> columns;
  columns.count("device", "GPU", [](const GpuTime& row) { return if_numbered(row.device); })
      .time("span", "time", &GpuTime::span)
      .time("busy", "busy", &GpuTime::busy)
      .percent("busy_share", "share busy", [](const GpuTime& row) { return ratio(row.busy, row.span); })
      .time("idle", "idle", &GpuTime::idle)
      .time("compute", "computing", &GpuTime::compute)
      .time("communication", "communicating", &GpuTime::communication)
      .time("overlap", "overlap", &GpuTime::overlap)
      .time("exposed", "exposed", &GpuTime::exposed)
      .time("memory", "copying", &GpuTime::memory);
  return columns;
}

std::optional<std::int64_t> if_recorded(const ShareRow& row, std::int64_t value) {
  return row.is_recorded ? std::optional(value) : std::nullopt;
}

/// A share with the steps that it is of.
struct ShareOfSteps : ShareRow {
  std::int64_t steps = 0;  ///< 0: not known

  double per_step() const { return is_recorded && steps > 0 ? as_double(ns) / as_double(steps) : kNone; }
};

std::vector<ShareOfSteps> shares_of_steps(const Profile& profile) {
  std::vector<ShareOfSteps> rows;
  for (const ShareRow& row : profile.shares)
    rows.push_back({row, profile.num_steps});
  return rows;
}

TableColumns<ShareOfSteps> share_columns() {
  TableColumns<ShareOfSteps> columns("name", "figure", &ShareOfSteps::name);
  columns.text("of", "of", &ShareOfSteps::of)
      .count("count", "count", [](const ShareRow& row) { return if_recorded(row, row.count); })
      .time("total", "total", [](const ShareRow& row) { return if_recorded(row, row.ns); })
      .time("per_step", "per step", &ShareOfSteps::per_step)
      .time("whole", "of a total of", [](const ShareRow& row) { return if_recorded(row, row.whole_ns); })
      .percent("share", "share",
               [](const ShareRow& row) { return row.is_recorded ? row.share().value_or(kNone) : kNone; });
  return columns;
}

/// Times by name, with their share of the total of all.
struct SharedTimes {
  std::string name;
  Distribution time;
  double share = 0;
};

std::vector<SharedTimes> with_shares(const std::vector<NamedTimes>& rows, std::int64_t total) {
  std::vector<SharedTimes> out;
  out.reserve(rows.size());
  for (const NamedTimes& row : rows)
    out.push_back({row.name, row.time, ratio(row.time.total, total)});
  return out;
}

TableColumns<SharedTimes> times_columns() {
  TableColumns<SharedTimes> columns("name", "name", &SharedTimes::name);
  columns.percent("share", "share", &SharedTimes::share).distribution();
  return columns;
}

TableColumns<CopyRow> copy_columns() {
  TableColumns<CopyRow> columns("direction", "direction", &CopyRow::direction);
  columns
      .bytes("bytes", "bytes",
             [](const CopyRow& row) { return row.without_bytes > 0 ? std::nullopt : std::optional(row.bytes); })
      .number("gigabytes_per_s", "GB/s", [](const CopyRow& row) { return row.bandwidth().value_or(kNone); })
      .distribution();
  return columns;
}

TableColumns<NamedTimes> named_columns(const char* name, const char* label) {
  TableColumns<NamedTimes> columns(name, label, &NamedTimes::name);
  columns.distribution();
  return columns;
}

/// What operators cost, without those that they call.
template <class Row>
TableColumns<Row>& with_cost(TableColumns<Row>& columns) {
  return columns.time("self", "self", [](const Row& row) { return row.cost.self_ns; })
      .time("gpu", "on the GPU", [](const Row& row) { return row.cost.gpu_ns; })
      .count("gpu_count", "work on the GPU", [](const Row& row) { return row.cost.gpu_count; })
      .bytes("allocated_bytes", "allocated", [](const Row& row) { return row.cost.allocated_bytes; });
}

TableColumns<OperatorRow> operator_columns() {
  TableColumns<OperatorRow> columns("name", "operator", &OperatorRow::name);
  columns.text("phase", "phase", &OperatorRow::phase);
  with_cost(columns).distribution();
  return columns;
}

TableColumns<PhaseRow> phase_columns() {
  TableColumns<PhaseRow> columns("name", "phase", &PhaseRow::name);
  columns.distribution();
  with_cost(columns);
  return columns;
}

TableColumns<BlockRow> block_columns() {
  TableColumns<BlockRow> columns("name", "block", &BlockRow::name);
  columns.text("pass", "pass", &BlockRow::pass);
  with_cost(columns).distribution();
  return columns;
}

TableColumns<ThreadRow> thread_columns() {
  TableColumns<ThreadRow> columns("name", "threads", &ThreadRow::name);
  columns.count("count", "count", &ThreadRow::count)
      .time("window", "window", &ThreadRow::window_ns)
      .time("running", "running", &ThreadRow::running_ns)
      .percent("running_share", "share running",
               [](const ThreadRow& row) { return ratio(row.running_ns, row.window_ns); })
      .time("waiting", "waiting for a core", &ThreadRow::waiting_ns)
      .time("idle", "idle", &ThreadRow::idle_ns);
  return columns;
}

TableColumns<ExchangeRow> exchange_columns() {
  const auto of = [](auto member) { return [member](const ExchangeRow& row) { return row.totals.*member; }; };
  const auto ns_of = [](auto member) { return [member](const ExchangeRow& row) { return row.totals.*member * 1e9; }; };
  TableColumns<ExchangeRow> columns("name", "collective", &ExchangeRow::name);
  columns.count("calls", "calls", of(&CommunicationTotals::calls))
      .bytes("payload_bytes", "payload", of(&CommunicationTotals::payload_bytes))
      .bytes("bus_bytes", "on the bus", of(&CommunicationTotals::bus_bytes))
      .time("total", "time", ns_of(&CommunicationTotals::seconds_total))
      .time("exposed", "exposed", ns_of(&CommunicationTotals::seconds_exposed))
      .time("skew", "waiting for ranks", ns_of(&CommunicationTotals::seconds_skew));
  return columns;
}

TableColumns<FileRow> file_columns() {
  TableColumns<FileRow> columns("name", "kind", &FileRow::name);
  columns.count("calls", "calls", [](const FileRow& row) { return row.totals.calls; })
      .bytes("bytes", "bytes", [](const FileRow& row) { return row.totals.bytes; })
      .time("total", "time", [](const FileRow& row) { return row.totals.seconds * 1e9; })
      .number(
          "gigabytes_per_s", "GB/s", [](const FileRow& row) { return row.totals.gb_per_s(); }, Format::three_digits)
      .time("lock", "waiting for the lock", [](const FileRow& row) { return row.totals.lock_seconds * 1e9; });
  return columns;
}

TableColumns<MpiRow> mpi_columns() {
  TableColumns<MpiRow> columns("name", "function", &MpiRow::name);
  columns.count("calls", "calls", &MpiRow::calls)
      .bytes("bytes", "bytes", &MpiRow::bytes)
      .time("total", "time", &MpiRow::ns);
  return columns;
}

TableColumns<StreamRow> stream_columns() {
  TableColumns<StreamRow> columns;
  columns.count("device", "GPU", [](const StreamRow& row) { return if_numbered(row.device); })
      .count("stream", "stream", [](const StreamRow& row) { return if_numbered(row.stream); })
      .count("count", "work", &StreamRow::count)
      .time("span", "time", &StreamRow::span)
      .time("busy", "busy", &StreamRow::busy)
      .count("gaps", "gaps", [](const StreamRow& row) { return row.gaps.count; })
      .time("gap_total", "in gaps", [](const StreamRow& row) { return row.gaps.total; })
      .time("gap_median", "median gap",
            [](const StreamRow& row) { return row.gaps.count > 0 ? row.gaps.median : std::nullopt; })
      .count("host_bound_gaps", "host-bound gaps", &StreamRow::host_bound_gaps)
      .time("host_bound", "in host-bound gaps", &StreamRow::host_bound_ns);
  return columns;
}

std::vector<NamedTimes> delays_of(const Profile& profile) {
  if (profile.delays.from_start.count == 0) return {};
  return {{"from the start of the call", profile.delays.from_start},
          {"from the end of the call", profile.delays.from_end},
          {"in the queue", profile.delays.queue}};
}

}  // namespace

std::vector<ProfileTable> profile_tables(const std::vector<const Profile*>& profiles, const TableWishes& wishes) {
  TableWishes all = wishes;
  all.most = static_cast<std::size_t>(-1);
  // Tables with few rows are shown whole.
  const auto table = [&](const TableWishes& limit, const char* id, const char* heading, const auto& columns,
                         const auto& rows_of) { return table_of(profiles, limit, id, heading, columns, rows_of); };
  return {
      table(all, "gpus", "How each GPU spent its time", gpu_columns(), &Profile::gpus),
      table(all, "shares", "Shares of calls, copies and kernels", share_columns(), shares_of_steps),
      table(wishes, "calls", "Calls of the CUDA runtime and driver", times_columns(),
            [](const Profile& of) { return with_shares(of.calls, of.api_ns); }),
      table(wishes, "kernels", "Kernels", times_columns(),
            [](const Profile& of) { return with_shares(of.kernels, of.kernel_ns); }),
      table(all, "copies", "Copies and memsets by direction", copy_columns(), &Profile::copies),
      table(all, "collectives", "NCCL kernels by collective", named_columns("name", "collective"),
            &Profile::collectives),
      table(all, "phases", "Operators by phase of the steps", phase_columns(), &Profile::phases),
      table(wishes, "blocks", "Operators by block of the model", block_columns(), &Profile::blocks),
      table(wishes, "operators", "Operators of PyTorch", operator_columns(), &Profile::operators),
      table(all, "exchanges", "Collectives that the program started", exchange_columns(), &Profile::exchanges),
      table(all, "mpi", "Calls of MPI", mpi_columns(), &Profile::mpi),
      table(all, "io", "Reads and writes of HDF5 files", file_columns(), &Profile::files),
      table(all, "threads", "Threads of the program", thread_columns(), &Profile::threads),
      table(all, "streams", "Streams", stream_columns(), &Profile::streams),
      table(all, "delays", "Delays of kernels after their launch", named_columns("delay", "delay"), delays_of),
  };
}

}  // namespace multicard::post
