#include "results/ProfileTables.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Number.hpp"
#include "base/Shown.hpp"
#include "results/ProfileColumns.hpp"

namespace multicard {

namespace {

constexpr const char* kFolder = "profile/";

/// Of a call that the profiler does not record a row has its keys alone.
enum class HasValues { no, yes };

/// Puts one row into a table.
class RowWriter {
 public:
  explicit RowWriter(RankTable& table) : table_(table) {}

  void key(const char* name, const std::string& value) { keys_[name] = value; }
  void key(const char* name, std::int64_t value) { keys_[name] = std::to_string(value); }
  template <class T>
  void total(const char* name, T value) {
    add(name, Merge::total, static_cast<double>(value));
  }
  /// What is not known is not there.
  template <class T>
  void total(const char* name, const std::optional<T>& value) {
    if (value) total(name, *value);
  }
  template <class T>
  void largest(const char* name, T value) {
    add(name, Merge::largest, static_cast<double>(value));
  }

  void finish(HasValues has_values) {
    table_.keys.clear();
    RankTable::Key key;
    for (const auto& [name, value] : keys_) {
      table_.keys.push_back(name);
      key.push_back(value);
    }
    if (has_values == HasValues::no) values_.clear();
    table_.rows[key] = std::move(values_);
  }

 private:
  void add(const char* name, Merge merge, double value) {
    table_.rules[name] = merge;
    values_[name] = value;
  }

  RankTable& table_;
  std::map<std::string, std::string> keys_;
  std::map<std::string, double> values_;
};

/// Takes row number `index` out of a table. A column that it lacks leaves the value of a new row.
class RowReader {
 public:
  RowReader(const std::string& path, const Table& table, std::size_t index)
      : path_(path), table_(table), index_(index) {}

  void key(const char* name, std::string& value) const {
    const auto found = table_.text.find(name);
    if (found != table_.text.end()) value = found->second.at(index_);
  }
  void key(const char* name, std::int64_t& value) const {
    std::string text;
    key(name, text);
    const auto number = parse_number<std::int64_t>(text);
    if (!number)
      throw DataError(fmt::format("a row of {} has the {} {}, which is not a number", path_, name, shown(text)));
    value = *number;
  }
  template <class T>
  void total(const char* name, T& value) const {
    if (const auto known = value_of(name)) value = static_cast<T>(*known);
  }
  template <class T>
  void total(const char* name, std::optional<T>& value) const {
    if (const auto known = value_of(name)) value = static_cast<T>(*known);
  }
  template <class T>
  void largest(const char* name, T& value) const {
    total(name, value);
  }

 private:
  std::optional<double> value_of(const char* name) const {
    const auto found = table_.reals.find(name);
    if (found == table_.reals.end() || !std::isfinite(found->second.at(index_))) return std::nullopt;
    return found->second[index_];
  }

  const std::string& path_;
  const Table& table_;
  std::size_t index_;
};

template <class Row>
void write_rows(std::map<std::string, RankTable>& tables, const char* name, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    RowWriter writer(tables[std::string(kFolder) + name]);
    describe(writer, row);
    if constexpr (std::is_same_v<Row, ShareRow>)
      writer.finish(row.is_recorded ? HasValues::yes : HasValues::no);
    else
      writer.finish(HasValues::yes);
  }
}

/// \name Delays are members of a profile, and rows of a table
/// @{
std::vector<NamedTimes> rows_of(const LaunchDelays& delays) {
  if (delays.from_start.count == 0) return {};
  return {{"from_start", delays.from_start}, {"from_end", delays.from_end}, {"queue", delays.queue}};
}
void take_delays(const std::vector<NamedTimes>& rows, LaunchDelays& delays) {
  for (const NamedTimes& row : rows)
    (row.name == "from_start" ? delays.from_start : row.name == "from_end" ? delays.from_end : delays.queue) = row.time;
}
/// @}

void finish(Distribution& time) {
  if (time.count > 0) time.mean = static_cast<double>(time.total) / static_cast<double>(time.count);
  time.min.reset();
  time.median.reset();
}

/// The profiles of the ranks of one run, while its tables are read.
class ProfileReader {
 public:
  explicit ProfileReader(const std::map<std::string, Table>& tables) : tables_(tables) {}

  std::vector<Profile> read() {
    read_rows("calls", &Profile::calls);
    read_rows("kernels", &Profile::kernels);
    read_rows("copies", &Profile::copies);
    read_rows("collectives", &Profile::collectives);
    read_rows("operators", &Profile::operators);
    read_rows("phases", &Profile::phases);
    read_rows("blocks", &Profile::blocks);
    read_rows("threads", &Profile::threads);
    read_rows("exchanges", &Profile::exchanges);
    read_rows("io", &Profile::files);
    read_rows("mpi", &Profile::mpi);
    read_rows("gpus", &Profile::gpus);
    read_rows("streams", &Profile::streams);
    each_row<NamedTimes>("delays", [](Profile& profile, const NamedTimes& row) { take_delays({row}, profile.delays); });
    each_row<WindowRow>("window", [](Profile& profile, const WindowRow& row) {
      profile.num_steps = row.steps;
      profile.window_ns = row.ns;
      profile.delays.unmatched = row.unmatched_kernels;
    });
    std::vector<Profile> profiles;
    for (auto& [rank, profile] : by_rank_) {
      profile.rank = rank;
      sort_rows(profile);
      if (!profile.gpus.empty()) add_shares(profile);
      profiles.push_back(std::move(profile));
    }
    return profiles;
  }

 private:
  template <class Row, class Take>
  void each_row(const char* name, const Take& take) {
    const std::string path = std::string(kFolder) + name;
    const auto found = tables_.find(path);
    if (found == tables_.end() || !is_of_ranks(found->second)) return;
    const std::vector<std::int64_t>& ranks = found->second.integers.at("rank");
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      Row row;
      RowReader reader(path, found->second, i);
      describe(reader, row);
      if constexpr (requires { row.time; }) finish(row.time);
      if constexpr (requires { row.gaps; }) finish(row.gaps);
      take(by_rank_[ranks[i]], row);
    }
  }
  template <class Row>
  void read_rows(const char* name, std::vector<Row> Profile::*member) {
    each_row<Row>(name, [member](Profile& profile, const Row& row) { (profile.*member).push_back(row); });
  }

  const std::map<std::string, Table>& tables_;
  std::map<std::int64_t, Profile> by_rank_;
};

}  // namespace

std::map<std::string, RankTable> tables_of_profile(const Profile& profile) {
  std::map<std::string, RankTable> tables;
  write_rows(tables, "calls", profile.calls);
  write_rows(tables, "kernels", profile.kernels);
  write_rows(tables, "copies", profile.copies);
  write_rows(tables, "collectives", profile.collectives);
  write_rows(tables, "operators", profile.operators);
  write_rows(tables, "phases", profile.phases);
  write_rows(tables, "blocks", profile.blocks);
  write_rows(tables, "threads", profile.threads);
  write_rows(tables, "exchanges", profile.exchanges);
  write_rows(tables, "io", profile.files);
  write_rows(tables, "mpi", profile.mpi);
  write_rows(tables, "gpus", profile.gpus);
  write_rows(tables, "streams", profile.streams);
  write_rows(tables, "delays", rows_of(profile.delays));
  if (!profile.gpus.empty()) write_rows(tables, "shares", profile.shares);
  write_rows(tables, "window",
             std::vector<WindowRow>{
                 {.steps = profile.num_steps, .ns = profile.window_ns, .unmatched_kernels = profile.delays.unmatched}});
  return tables;
}

std::vector<Profile> read_profiles(const std::map<std::string, Table>& tables) {
  return ProfileReader(tables).read();
}

}  // namespace multicard
