#include "results/ResultsReader.hpp"

#include <algorithm>
#include <set>
#include <type_traits>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "io/OwnFiles.hpp"
#include "io/Seal.hpp"
#include "results/RunFrame.hpp"
#include "results/Schema.hpp"

namespace multicard {

namespace {

constexpr const char* kSteps = "steps";  ///< its columns are of two types

constexpr std::int64_t kMostRanks = 1 << 24;

/// Whether a group of a run has a meaning of its own: the others are tables.
bool is_known_group(const std::string& name) {
  // Unknown groups are tables, so that those which this program knows nothing of are read as well.
  bool is_known = name == "segments" || name == "metrics";
  for_each_group([&](auto group) { is_known = is_known || name == group.path; });
  return is_known;
}

/// Columns of one table have equal lengths.
bool is_even(const Table& table) {
  std::set<std::size_t> lengths;
  const auto note = [&](const auto& columns) {
    for (const auto& [name, values] : columns)
      lengths.insert(values.size());
  };
  note(table.text);
  note(table.integers);
  note(table.reals);
  return lengths.size() <= 1;
}

/// Reads the groups of one run.
class RunReader {
 public:
  RunReader(const Hdf5File& file, const std::string& name) : file_(file), run_(run_path(name)) {
    data_.summary.name = name;
  }

  RunData read() && {
    read_attributes();
    read_steps();
    read_metrics();
    read_segments();
    for_each_group([&](auto group, auto& columns) { read_group(group.path, columns); }, data_);
    read_tables();
    return std::move(data_);
  }

  RunData read_with_tables(const std::string& group) && {
    read_attributes();
    read_steps();
    read_tables_of(group);
    return std::move(data_);
  }

 private:
  std::string path(const std::string& inside) const { return inside.empty() ? run_ : run_ + "/" + inside; }

  [[noreturn]] void refuse(const std::string& inside, const std::string& why) const {
    throw DataError(fmt::format("{}: {} is damaged", file_.path(), path(inside)), why);
  }

  std::vector<std::string> below(const std::string& group) const {
    return file_.exists(path(group)) ? file_.datasets_below(path(group)) : std::vector<std::string>();
  }

  Hdf5Dataset open(const std::string& inside, std::size_t num_dimensions) const {
    Hdf5Dataset dataset = file_.open_dataset(path(inside));
    if (dataset.dims().size() != num_dimensions)
      refuse(inside, fmt::format("it has {} dimensions instead of {}", dataset.dims().size(), num_dimensions));
    return dataset;
  }
  void require_ranks(const Hdf5Dataset& dataset, const std::string& inside) const {
    if (data_.ranks < 1) refuse(inside, "the run has no ranks");
    if (dataset.dims().front() != static_cast<std::uint64_t>(data_.ranks))
      refuse(inside, fmt::format("it has rows of {} ranks instead of {}", dataset.dims().front(), data_.ranks));
  }
  template <class T>
  RankMatrix<T> matrix(const std::string& inside) const {
    const Hdf5Dataset dataset = open(inside, 2);
    require_ranks(dataset, inside);
    return {dataset.dims()[0], dataset.dims()[1], dataset.read_all<T>()};
  }
  template <class T>
  std::vector<T> per_rank(const std::string& inside) const {
    const Hdf5Dataset dataset = open(inside, 1);
    require_ranks(dataset, inside);
    return dataset.read_all<T>();
  }

  void read_attributes() {
    // All attributes by their type: the keys of decks stand among them under their paths, whatever they are.
    for (auto& [name, value] : file_.attributes(run_)) {
      if (const auto* text = std::get_if<std::string>(&value)) data_.summary.text[name] = *text;
      if (const auto* integer = std::get_if<std::int64_t>(&value)) data_.summary.integers[name] = *integer;
      if (const auto* real = std::get_if<double>(&value)) data_.summary.reals[name] = *real;
    }
    const auto ranks = file_.attribute<std::int64_t>(run_, "ranks");
    if (ranks < 0 || ranks > kMostRanks) refuse("", fmt::format("it has {} ranks", ranks));
    data_.ranks = static_cast<int>(ranks);
    data_.summary.status = file_.attribute<std::string>(run_, "status");
    data_.summary.error = file_.attribute<std::string>(run_, "error");
    data_.summary.text.erase("status");
    data_.summary.text.erase("error");
  }

  void read_steps() {
    if (!file_.exists(path("steps"))) return;
    data_.first_step = file_.attribute<std::int64_t>(path("steps"), "first_step");
    data_.summary.skip_steps = file_.attribute<std::int64_t>(path("steps"), "skip_steps");
    data_.clock = file_.attribute<std::string>(path("steps/step"), "clock");
    data_.num_steps = open("steps/step", 2).dims()[1];
    if (file_.open_dataset(path("steps/step")).type() == ElementType::int64) refuse("steps/step", "it holds no times");
    if (data_.first_step < 0) refuse("steps", fmt::format("its first step is {}", data_.first_step));
  }

  /// \name The columns of a group, those of one type where a group has several
  /// @{
  template <class T>
  void read_group(const std::string& group, std::map<std::string, RankMatrix<T>>& columns) const {
    for (const std::string& name : below(group)) {
      const std::string inside = group + "/" + name;
      const Hdf5Dataset dataset = open(inside, 2);
      if (group == kSteps && dataset.dims()[1] != data_.num_steps)
        refuse(inside, fmt::format("it has {} steps instead of {}", dataset.dims()[1], data_.num_steps));
      // The group `steps` has times and counts, and is read once for each of the two types.
      const bool is_integer = dataset.type() == ElementType::int64;
      if (group != kSteps || is_integer == std::is_integral_v<T>) columns[name] = matrix<T>(inside);
    }
  }
  void read_group(const std::string& group, std::map<std::string, std::vector<std::int64_t>>& columns) const {
    for (const std::string& name : below(group))
      columns[name] = per_rank<std::int64_t>(group + "/" + name);
  }
  /// Each name is a group whose datasets are columns.
  template <class Row>
  void read_group(const std::string& group, std::map<std::string, std::vector<Row>>& columns) const {
    if (!file_.exists(path(group))) return;
    for (const std::string& name : file_.children(path(group))) {
      std::vector<Row>& rows = columns[name];
      rows.resize(static_cast<std::size_t>(data_.ranks));
      for_each_column<Row>([&]<class Value>(const RowColumn<Row, Value>& column) {
        const std::string inside = fmt::format("{}/{}/{}", group, name, column.name);
        if (column.since == Since::later && !file_.exists(path(inside))) return;
        const std::vector<Value> values = per_rank<Value>(inside);
        for (std::size_t rank = 0; rank < rows.size(); ++rank)
          rows[rank].*column.place = values[rank];
      });
    }
  }
  /// @}

  void read_metrics() {
    const std::vector<std::string> names = below("metrics");
    const auto has = [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    // A metric is a pair of datasets, NAME and NAME_step; the latter has no partner of its own.
    for (const std::string& name : names) {
      if (!has(name + "_step")) continue;
      MetricSeries series{file_.read_values<double>(path("metrics/" + name)),
                          file_.read_values<std::int64_t>(path("metrics/" + name + "_step"))};
      if (series.values.size() != series.steps.size())
        refuse("metrics/" + name, fmt::format("{} values with {} steps", series.values.size(), series.steps.size()));
      // A metric that was never recorded is none.
      if (!series.values.empty()) data_.summary.metrics[name] = std::move(series);
    }
  }

  void read_segments() {
    if (!file_.exists(path("segments"))) return;
    const auto first_steps = file_.read_values<std::int64_t>(path("segments/first_step"));
    const auto ranks = file_.read_values<std::int64_t>(path("segments/ranks"));
    if (first_steps.size() != ranks.size()) refuse("segments", "its columns differ in length");
    for (std::size_t i = 0; i < ranks.size(); ++i)
      data_.summary.segments.push_back({first_steps[i], ranks[i]});
  }

  /// Whatever else the run holds: datasets of one group are the columns of one table.
  void read_tables() {
    for (const std::string& group : file_.children(run_))
      if (!is_known_group(group)) read_tables_of(group);
  }

  void read_tables_of(const std::string& group) {
    for (const std::string& dataset : below(group)) {
      const std::size_t slash = dataset.rfind('/');
      const std::string name = slash == std::string::npos ? group : group + "/" + dataset.substr(0, slash);
      read_column(data_.summary.tables[name], path(group + "/" + dataset),
                  slash == std::string::npos ? dataset : dataset.substr(slash + 1));
    }
    for (const auto& [name, table] : data_.summary.tables)
      if (!is_even(table)) refuse(name, "its columns differ in length");
  }

  void read_column(Table& table, const std::string& dataset, const std::string& column) const {
    switch (file_.open_dataset(dataset).type()) {
      case ElementType::text:
        table.text[column] = file_.read_texts(dataset);
        break;
      case ElementType::int64:
        table.integers[column] = file_.read_values<std::int64_t>(dataset);
        break;
      default:
        table.reals[column] = file_.read_values<double>(dataset);
    }
    if (file_.has_attribute(dataset, schema::kMerge))
      table.merge[column] = merge_of(dataset, file_.attribute<std::string>(dataset, schema::kMerge));
  }

  Merge merge_of(const std::string& dataset, const std::string& word) const {
    for (const auto& [known, merge] : schema::kMergeWords)
      if (word == known) return merge;
    throw DataError(fmt::format("{}: {} is damaged", file_.path(), dataset),
                    fmt::format("its attribute {} is {}", schema::kMerge, word));
  }

  const Hdf5File& file_;
  std::string run_;
  RunData data_;
};

}  // namespace

bool is_results_file(const std::string& path) {
  return content_says(path, kHdf5Start, schema::kFormat);
}

ResultsFile::ResultsFile(Hdf5File file) : file_(std::move(file)), attributes_(file_.attributes("/")) {}

ResultsFile ResultsFile::open(const std::string& path, Seal seal) {
  // Before libhdf5 sees the file: it may crash on a damaged one.
  if (seal == Seal::check) check_seal(path);
  Hdf5File file = Hdf5File::open_read(path);
  if (!file.has_attribute("/", "format") || file.attribute<std::string>("/", "format") != schema::kFormat)
    throw DataError(fmt::format("{} is not a results file of multicard", path),
                    fmt::format("its attribute format is not {}", schema::kFormat));
  const std::int64_t version = file.attribute<std::int64_t>("/", "schema_version");
  if (version > schema::kVersion)
    throw DataError(fmt::format("{} was written by a newer multicard", path),
                    fmt::format("its schema_version is {}, this program knows {}", version, schema::kVersion),
                    "Use the version that wrote it.");
  return ResultsFile(std::move(file));
}

std::vector<std::string> ResultsFile::run_names() const {
  return file_.children(schema::kRuns);
}

void ResultsFile::require_run(const std::string& name) const {
  if (!file_.exists(run_path(name)))
    throw DataError(fmt::format("{} has no run {}", path(), name), "it has " + join(run_names(), ", "));
}

RunData ResultsFile::run(const std::string& name) const {
  require_run(name);
  return RunReader(file_, name).read();
}

RunData ResultsFile::run_with_tables(const std::string& name, const std::string& group) const {
  require_run(name);
  return RunReader(file_, name).read_with_tables(group);
}

std::vector<RunData> ResultsFile::runs() const {
  std::vector<RunData> all;
  for (const std::string& name : run_names())
    all.push_back(run(name));
  return all;
}

}  // namespace multicard
