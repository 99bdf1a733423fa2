#include "results/ProfileTables.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

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

/// Takes rows out of a table. A column that it lacks leaves the value of a new row.
class RowReader {
 public:
  RowReader(const std::string& path, const Table& table) : path_(path), table_(table) {}

  template <class Row>
  Row read(std::size_t index) {
    index_ = index;
    next_text_ = next_real_ = 0;
    Row row;
    describe(*this, row);
    return row;
  }

  void key(const char* name, std::string& value) {
    if (const auto* texts = next_column(texts_, next_text_, table_.text, name)) value = texts->at(index_);
  }
  void key(const char* name, std::int64_t& value) {
    std::string text;
    key(name, text);
    const auto number = parse_number<std::int64_t>(text);
    if (!number)
      throw DataError(fmt::format("a row of {} has the {} {}, which is not a number", path_, name, shown(text)));
    value = *number;
  }
  template <class T>
  void total(const char* name, T& value) {
    if (const auto known = value_of(name)) value = static_cast<T>(*known);
  }
  template <class T>
  void total(const char* name, std::optional<T>& value) {
    if (const auto known = value_of(name)) value = static_cast<T>(*known);
  }
  template <class T>
  void largest(const char* name, T& value) {
    total(name, value);
  }

 private:
  std::optional<double> value_of(const char* name) {
    const auto* values = next_column(reals_, next_real_, table_.reals, name);
    if (!values || !std::isfinite(values->at(index_))) return std::nullopt;
    return (*values)[index_];
  }
  /// Every row asks for the same columns in the same order: each is looked for once.
  template <class Values>
  static const Values* next_column(std::vector<const Values*>& known, std::size_t& next,
                                   const std::map<std::string, Values>& columns, const char* name) {
    if (next == known.size()) {
      const auto found = columns.find(name);
      known.push_back(found == columns.end() ? nullptr : &found->second);
    }
    return known[next++];
  }

  std::string path_;
  const Table& table_;
  std::size_t index_ = 0, next_text_ = 0, next_real_ = 0;
  std::vector<const std::vector<std::string>*> texts_;
  std::vector<const std::vector<double>*> reals_;
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

/// The rows of one table, rank by rank.
class RankedRows {
 public:
  virtual ~RankedRows() = default;
  /// None where all rows are taken.
  virtual std::optional<std::int64_t> next_rank() const = 0;
  /// Puts the rows of the next rank into its profile.
  virtual void take(Profile& profile) = 0;
};

template <class Row, class Take>
class RankedRowsOf final : public RankedRows {
 public:
  RankedRowsOf(const std::string& path, const Table& table, Take take)
      : ranks_(table.integers.at("rank")), reader_(path, table), take_(std::move(take)), order_(ranks_.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, {}, [this](std::size_t row) { return ranks_[row]; });
  }

  std::optional<std::int64_t> next_rank() const override {
    return next_ < order_.size() ? std::optional(ranks_[order_[next_]]) : std::nullopt;
  }
  void take(Profile& profile) override {
    for (const std::int64_t rank = *next_rank(); next_rank() == rank; ++next_) {
      Row row = reader_.template read<Row>(order_[next_]);
      if constexpr (requires { row.time; }) finish(row.time);
      if constexpr (requires { row.gaps; }) finish(row.gaps);
      take_(profile, std::move(row));
    }
  }

 private:
  const std::vector<std::int64_t>& ranks_;
  RowReader reader_;
  Take take_;
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;
};

/// The profiles of the ranks of one run, while its tables are read.
class ProfileReader {
 public:
  explicit ProfileReader(const std::map<std::string, Table>& tables) : tables_(tables) {
    add_rows("calls", &Profile::calls);
    add_rows("kernels", &Profile::kernels);
    add_rows("copies", &Profile::copies);
    add_rows("collectives", &Profile::collectives);
    add_rows("operators", &Profile::operators);
    add_rows("phases", &Profile::phases);
    add_rows("blocks", &Profile::blocks);
    add_rows("threads", &Profile::threads);
    add_rows("exchanges", &Profile::exchanges);
    add_rows("io", &Profile::files);
    add_rows("mpi", &Profile::mpi);
    add_rows("gpus", &Profile::gpus);
    add_rows("streams", &Profile::streams);
    add<NamedTimes>("delays", [](Profile& profile, const NamedTimes& row) { take_delays({row}, profile.delays); });
    add<WindowRow>("window", [](Profile& profile, const WindowRow& row) {
      profile.num_steps = row.steps;
      profile.window_ns = row.ns;
      profile.delays.unmatched = row.unmatched_kernels;
    });
  }

  /// The next rank's; none after the last one.
  std::optional<Profile> next() {
    std::optional<std::int64_t> rank;
    for (const auto& rows : rows_)
      if (const auto of = rows->next_rank()) rank = std::min(rank.value_or(*of), *of);
    if (!rank) return std::nullopt;
    Profile profile;
    profile.rank = *rank;
    for (const auto& rows : rows_)
      if (rows->next_rank() == rank) rows->take(profile);
    return profile;
  }

 private:
  template <class Row, class Take>
  void add(const char* name, Take take) {
    const std::string path = std::string(kFolder) + name;
    const auto found = tables_.find(path);
    if (found == tables_.end() || !is_of_ranks(found->second)) return;
    rows_.push_back(std::make_unique<RankedRowsOf<Row, Take>>(path, found->second, std::move(take)));
  }
  template <class Row>
  void add_rows(const char* name, std::vector<Row> Profile::*member) {
    add<Row>(name, [member](Profile& profile, Row row) { (profile.*member).push_back(std::move(row)); });
  }

  const std::map<std::string, Table>& tables_;
  std::vector<std::unique_ptr<RankedRows>> rows_;
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

void for_each_profile(const std::map<std::string, Table>& tables, const std::function<void(Profile)>& take) {
  ProfileReader reader(tables);
  while (std::optional<Profile> profile = reader.next())
    take(std::move(*profile));
}

std::vector<Profile> read_profiles(const std::map<std::string, Table>& tables) {
  std::vector<Profile> profiles;
  for_each_profile(tables, [&](Profile profile) {
    sort_rows(profile);
    if (!profile.gpus.empty()) add_shares(profile);
    profiles.push_back(std::move(profile));
  });
  return profiles;
}

}  // namespace multicard
