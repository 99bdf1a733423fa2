#include "results/ResultsReader.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Secrets.hpp"
#include "base/Text.hpp"
#include "io/OwnFiles.hpp"
#include "io/Seal.hpp"
#include "results/RunFrame.hpp"
#include "results/Schema.hpp"

namespace multicard {

namespace {

constexpr std::array<const char*, 7> kColumnGroups{"steps",  "segments",      "epochs",   "metrics",
                                                   "memory", "communication", "transfers"};

constexpr std::int64_t kMostRanks = 1 << 24;

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
    for (const std::string& name : below("epochs"))
      data_.epochs[name] = matrix<double>("epochs/" + name);
    read_metrics();
    read_segments();
    for (const std::string& name : below("memory"))
      data_.memory[name] = per_rank<std::int64_t>("memory/" + name);
    for (const std::string& name : below("transfers"))
      data_.transfers[name] = per_rank<std::int64_t>("transfers/" + name);
    read_communication();
    read_tables();
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
    for (const std::string& name : below("steps")) {
      const std::string inside = "steps/" + name;
      const Hdf5Dataset dataset = open(inside, 2);
      if (dataset.dims()[1] != data_.num_steps)
        refuse(inside, fmt::format("it has {} steps instead of {}", dataset.dims()[1], data_.num_steps));
      if (dataset.type() == ElementType::int64)
        data_.counts[name] = matrix<std::int64_t>(inside);
      else
        data_.times[name] = matrix<double>(inside);
    }
    if (!data_.times.contains("step")) refuse("steps/step", "it holds no times");
    if (data_.first_step < 0) refuse("steps", fmt::format("its first step is {}", data_.first_step));
  }

  void read_metrics() {
    const std::vector<std::string> names = below("metrics");
    const auto has = [&](const std::string& name) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
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

  void read_communication() {
    if (!file_.exists(path("communication"))) return;
    for (const std::string& kind : file_.children(path("communication"))) {
      const std::string group = "communication/" + kind + "/";
      data_.communication[kind] = {per_rank<std::int64_t>(group + "calls"),
                                   per_rank<std::int64_t>(group + "payload_bytes"),
                                   per_rank<double>(group + "bus_bytes"), per_rank<double>(group + "seconds_total"),
                                   per_rank<double>(group + "seconds_exposed")};
    }
  }

  /// Whatever else the run holds: datasets of one group are the columns of one table.
  void read_tables() {
    for (const std::string& group : file_.children(run_)) {
      if (std::find(kColumnGroups.begin(), kColumnGroups.end(), group) != kColumnGroups.end()) continue;
      for (const std::string& dataset : below(group)) {
        const std::size_t slash = dataset.rfind('/');
        const std::string name = slash == std::string::npos ? group : group + "/" + dataset.substr(0, slash);
        read_column(data_.summary.tables[name], path(group + "/" + dataset),
                    slash == std::string::npos ? dataset : dataset.substr(slash + 1));
      }
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
  }

  const Hdf5File& file_;
  std::string run_;
  RunData data_;
};

/// Files that know nothing of keys have none.
std::vector<SettingKey> read_keys(const Hdf5File& file) {
  if (!file.exists(schema::kKeys)) return {};
  const auto column = [&](const char* name) {
    try {
      return file.read_texts(fmt::format("{}/{}", schema::kKeys, name));
    } catch (const Error&) {
      throw DataError(fmt::format("{}: {} is damaged", file.path(), schema::kKeys), fmt::format("it has no {}", name));
    }
  };
  const std::vector<std::string> keys = column("key"), labels = column("label"), effects = column("effect");
  if (labels.size() != keys.size() || effects.size() != keys.size())
    throw DataError(fmt::format("{}: {} is damaged", file.path(), schema::kKeys), "its columns have different lengths");
  std::vector<SettingKey> found;
  for (std::size_t i = 0; i < keys.size(); ++i)
    found.push_back({keys[i], labels[i], effects[i]});
  return found;
}

}  // namespace

bool is_results_file(const std::string& path) {
  return content_says(path, kHdf5Start, schema::kFormat);
}

ResultsFile::ResultsFile(Hdf5File file) : file_(std::move(file)), attributes_(file_.attributes("/")) {}

ResultsFile ResultsFile::open(const std::string& path, Seal seal) {
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

Provenance ResultsFile::provenance() const {
  const auto text = [&](const char* name) { return file_.attribute<std::string>(schema::kProvenance, name); };
  const auto texts = [&](const char* name) {
    return file_.attribute<std::vector<std::string>>(schema::kProvenance, name);
  };
  Provenance found;
  found.command_line = file_.attribute<std::string>("/", "command_line");
  found.hosts = texts("hosts");
  found.cpu = text("cpu");
  found.gpus = texts("gpus");
  found.driver = text("driver");
  found.cuda = text("cuda");
  found.nccl = text("nccl");
  found.mpi = text("mpi");
  found.hdf5 = text("hdf5");
  found.torch = text("torch");
  found.kernel = text("kernel");
  found.compiler = text("compiler");
  found.build_flags = text("build_flags");
  for (const std::string& variable : file_.read_texts(schema::kEnvironment)) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || speaks_of_secrets(variable.substr(0, equals))) continue;  // of an older version
    found.environment[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  found.keys = read_keys(file_);
  return found;
}

std::vector<std::string> ResultsFile::run_names() const {
  return file_.children(schema::kRuns);
}

RunData ResultsFile::run(const std::string& name) const {
  if (!file_.exists(run_path(name)))
    throw DataError(fmt::format("{} has no run {}", path(), name), "it has " + join(run_names(), ", "));
  return RunReader(file_, name).read();
}

std::vector<RunData> ResultsFile::runs() const {
  std::vector<RunData> all;
  for (const std::string& name : run_names())
    all.push_back(run(name));
  return all;
}

}  // namespace multicard
