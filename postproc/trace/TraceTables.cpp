#include "postproc/trace/TraceTables.hpp"

#include <cmath>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "base/Utf8.hpp"
#include "postproc/page/Columns.hpp"
#include "postproc/page/CsvText.hpp"

namespace multicard::post {

namespace {

/// A row with the rank that it is of.
template <class Row>
struct OfRank {
  std::int64_t rank = 0;
  Row row;
};

constexpr Outputs kPrograms = kCsv | kJson, kPeople = kPage | kTerminal;

/// NaN for what is not known.
template <class T>
double as_double(const T& value) {
  return static_cast<double>(value);
}
double as_double(const std::optional<std::int64_t>& value) {
  return value ? static_cast<double>(*value) : kNone;
}

/// "12.34 ms", in the largest unit of which it has one.
std::string time_text(double ns) {
  if (!std::isfinite(ns)) return "–";
  if (std::abs(ns) >= 1e9) return significant(ns / 1e9) + " s";
  if (std::abs(ns) >= 1e6) return significant(ns / 1e6) + " ms";
  if (std::abs(ns) >= 1e3) return significant(ns / 1e3) + " µs";
  return significant(ns) + " ns";
}

/// Names of kernels have hundreds of characters.
std::string shortened(const std::string& name) {
  constexpr std::size_t kMost = 60;
  if (num_characters(name) <= kMost) return name;
  std::size_t end = 0;
  for (std::size_t i = 0; i < kMost - 1; ++i)
    end += utf8_length(name[end]);
  return name.substr(0, end) + "…";
}

/// Builds the columns of a table. Times are nanoseconds for programs and have units for people.
template <class Row>
class TableColumns {
 public:
  using Ranked = OfRank<Row>;

  /// Of rows without a name.
  TableColumns() { add_rank(); }
  /// The name of a row is its first column; `label` is the header.
  template <class Get>
  TableColumns(const char* name, const char* label, Get get) {
    columns_.emplace_back(
        name, kPrograms | kPage, [get](const Ranked& of) { return Value(std::invoke(get, of.row)); }, label);
    columns_.emplace_back(
        name, kTerminal, [get](const Ranked& of) { return Value(shortened(std::invoke(get, of.row))); }, label);
    add_rank();
  }

  template <class Get>
  TableColumns& count(const char* name, const char* label, Get get) {
    return number(name, label, get, Format::count);
  }
  template <class Get>
  TableColumns& bytes(const char* name, const char* label, Get get) {
    return number(name, label, get, Format::bytes);
  }
  template <class Get>
  TableColumns& percent(const char* name, const char* label, Get get) {
    return number(name, label, get, Format::percent);
  }
  template <class Get>
  TableColumns& number(const char* name, const char* label, Get get, Format format = Format::plain) {
    columns_.emplace_back(
        name, kPrograms | kPeople, [get](const Ranked& of) { return Value(std::invoke(get, of.row)); }, label, format);
    return *this;
  }
  template <class Get>
  TableColumns& time(const std::string& name, const char* label, Get get) {
    columns_.emplace_back(name + "_ns", kPrograms, [get](const Ranked& of) { return Value(std::invoke(get, of.row)); });
    columns_.emplace_back(
        name, kPeople,
        [get](const Ranked& of) {
          const double ns = as_double(std::invoke(get, of.row));
          return Value(HtmlCell(time_text(ns), ns));
        },
        label);
    return *this;
  }
  /// Count, total, mean, median, 95th percentile, least and most of a row's `time`.
  TableColumns& distribution() {
    return count("count", "count", [](const Row& row) { return row.time.count; })
        .time("total", "total", [](const Row& row) { return row.time.total; })
        .time("mean", "mean", [](const Row& row) { return row.time.mean; })
        .time("median", "median", [](const Row& row) { return row.time.median; })
        .time("p95", "95 %", [](const Row& row) { return row.time.p95; })
        .time("min", "min", [](const Row& row) { return row.time.min; })
        .time("max", "max", [](const Row& row) { return row.time.max; });
  }

  const Columns<Ranked>& all() const { return columns_; }

 private:
  void add_rank() {
    columns_.emplace_back(
        "rank", kPrograms | kPeople, [](const Ranked& of) { return Value(of.rank); }, "rank");
  }

  Columns<Ranked> columns_;
};

/// `rows_of(profile)` are the table's rows of one rank.
template <class Row, class RowsOf>
ProfileTable table_of(const std::vector<Profile>& profiles, std::size_t most, std::string id, std::string heading,
                      const TableColumns<Row>& table, const RowsOf& rows_of) {
  const auto& columns = table.all();
  ProfileTable out{id,
                   heading,
                   {id, heading, labels_in(kPage, columns), {}},
                   {labels_in(kTerminal, columns)},
                   {},
                   nlohmann::ordered_json::array()};
  CsvText csv;
  for (const Profile& profile : profiles) {
    std::size_t number = 0;
    for (const Row& row : std::invoke(rows_of, profile)) {
      const OfRank<Row> ranked{profile.rank, row};
      csv.add(csv_row(columns, ranked));
      out.json.push_back(json_row(columns, ranked));
      if (number < kMostRowsOfAPage) out.page.rows.push_back(cells_in(kPage, columns, ranked));
      if (number < most) out.text.push_back(texts_in(kTerminal, columns, ranked));
      ++number;
    }
  }
  csv.add_header(csv_row(columns, OfRank<Row>{}));
  out.csv = csv.text();
  return out;
}

double ratio(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : kNone;
}

TableColumns<GpuTime> gpu_columns() {
  TableColumns<GpuTime> columns;
  columns.count("device", "GPU", &GpuTime::device)
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

TableColumns<ShareRow> share_columns() {
  TableColumns<ShareRow> columns("name", "figure", &ShareRow::name);
  columns.number("of", "of", &ShareRow::of)
      .count("count", "count", [](const ShareRow& row) { return if_recorded(row, row.count); })
      .time("total", "total", [](const ShareRow& row) { return if_recorded(row, row.ns); })
      .percent("share", "share",
               [](const ShareRow& row) { return row.is_recorded ? row.share.value_or(kNone) : kNone; });
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
  columns.bytes("bytes", "bytes", &CopyRow::bytes)
      .number("gigabytes_per_s", "GB/s", [](const CopyRow& row) { return row.bandwidth().value_or(kNone); })
      .distribution();
  return columns;
}

TableColumns<CollectiveRow> collective_columns() {
  TableColumns<CollectiveRow> columns("name", "collective", &CollectiveRow::name);
  columns.distribution();
  return columns;
}

TableColumns<OperatorRow> operator_columns() {
  TableColumns<OperatorRow> columns("name", "operator", &OperatorRow::name);
  columns.time("self", "self", &OperatorRow::self_ns)
      .time("gpu", "on the GPU", &OperatorRow::gpu_ns)
      .count("gpu_count", "work on the GPU", &OperatorRow::gpu_count)
      .distribution();
  return columns;
}

TableColumns<StreamRow> stream_columns() {
  TableColumns<StreamRow> columns;
  columns.count("device", "GPU", &StreamRow::device)
      .count("stream", "stream", &StreamRow::stream)
      .count("count", "work", &StreamRow::count)
      .time("span", "time", &StreamRow::span)
      .time("busy", "busy", &StreamRow::busy)
      .count("gaps", "gaps", [](const StreamRow& row) { return row.gaps.count; })
      .time("gap_total", "in gaps", [](const StreamRow& row) { return row.gaps.total; })
      .time("gap_median", "median gap", [](const StreamRow& row) { return row.gaps.median; })
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

TableColumns<NamedTimes> delay_columns() {
  TableColumns<NamedTimes> columns("delay", "delay", &NamedTimes::name);
  columns.distribution();
  return columns;
}

}  // namespace

std::vector<ProfileTable> profile_tables(const std::vector<Profile>& profiles, std::size_t most) {
  const auto all = static_cast<std::size_t>(-1);  // of tables with few rows
  const auto table = [&](std::size_t limit, const char* id, const char* heading, const auto& columns,
                         const auto& rows_of) { return table_of(profiles, limit, id, heading, columns, rows_of); };
  return {
      table(all, "gpus", "How each GPU spent its time", gpu_columns(), &Profile::gpus),
      table(all, "shares", "Shares of calls, copies and kernels", share_columns(), &Profile::shares),
      table(most, "calls", "Calls of the CUDA runtime and driver", times_columns(),
            [](const Profile& of) { return with_shares(of.calls, of.api_ns); }),
      table(most, "kernels", "Kernels", times_columns(),
            [](const Profile& of) { return with_shares(of.kernels, of.kernel_ns); }),
      table(all, "copies", "Copies and memsets by direction", copy_columns(), &Profile::copies),
      table(all, "collectives", "NCCL kernels by collective", collective_columns(), &Profile::collectives),
      table(most, "operators", "Operators of PyTorch", operator_columns(), &Profile::operators),
      table(all, "streams", "Streams", stream_columns(), &Profile::streams),
      table(all, "delays", "Delays of kernels after their launch", delay_columns(), delays_of),
  };
}

}  // namespace multicard::post
