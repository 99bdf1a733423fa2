#include "scheduling/replay/Workload.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/CsvTable.hpp"
#include "base/RegularFile.hpp"
#include "base/Text.hpp"
#include "scheduling/rates/PublishedRows.hpp"
#include "scheduling/replay/PublishedModel.hpp"
#include "scheduling/replay/TableModel.hpp"

namespace multicard {

namespace {

constexpr double kLatest = 1e9;     // seconds
constexpr double kMostWork = 1e12;  // units
constexpr double kLeastWork = 1e-9;
constexpr double kLeastRate = 1e-12;    // units a second, but for 0
constexpr double kRubickRestart = 260;  // seconds, as published

/// GPUs of the user; where the system may not choose others at most those of the cluster, or the job could never run.
int read_gpus(const CsvTable& table, std::size_t row, const char* column, const Machine& cluster, JobFreedom freedom) {
  constexpr int most = std::numeric_limits<int>::max();
  return static_cast<int>(table.whole(row, column, 1, freedom == JobFreedom::none ? cluster.gpus() : most));
}

/// Jobs of applications with measured convergence. Those with the same application and batch share a model.
class PolluxReader {
 public:
  PolluxReader(const ReplayOptions& options, JobFreedom freedom) : options_(options), freedom_(freedom) {}

  JobRequest read(const CsvTable& table, std::size_t row) {
    const std::string& name = table.text(row, "application");
    std::shared_ptr<const Application>& application = applications_[name];
    if (!application) application = std::make_shared<const Application>(options_.traces + "/" + name);
    const BatchLimits& limits = application->limits();
    const int batch = static_cast<int>(table.whole(row, "batch_size", limits.first, limits.largest));
    const int gpus = read_gpus(table, row, "num_replicas", options_.cluster, freedom_);
    return {table.text(row, "name"), table.number(row, "time", 0, kLatest), gpus, model_of(application, batch)};
  }

 private:
  std::shared_ptr<const JobModel> model_of(const std::shared_ptr<const Application>& application, int batch) {
    std::shared_ptr<const JobModel>& model = models_[{application->name(), batch}];
    const int per_node = options_.cluster.gpus_per_node;
    if (!model && freedom_ == JobFreedom::plan_and_batch)
      model = std::make_shared<AdaptiveBatchModel>(application, batch, per_node);
    else if (!model)
      model = std::make_shared<FixedBatchModel>(application, batch, per_node);
    return model;
  }

  const ReplayOptions& options_;
  JobFreedom freedom_;
  std::map<std::string, std::shared_ptr<const Application>> applications_;
  std::map<std::pair<std::string, int>, std::shared_ptr<const JobModel>> models_;
};

/// Step times over (strategy, placement). GPUs count as placed on the fewest nodes that were measured.
class RubickReader {
 public:
  RubickReader(const ReplayOptions& options, JobFreedom freedom) : options_(options), freedom_(freedom) {}

  /// Whether the application of the job was measured.
  bool knows(const CsvTable& table, std::size_t row) const { return is_there(path_of(table.text(row, "application"))); }

  JobRequest read(const CsvTable& table, std::size_t row) {
    const int gpus = read_gpus(table, row, "num_gpus", options_.cluster, freedom_);
    const std::string& plan = table.text(row, "exec_plan");
    std::map<int, double> seconds = seconds_of(table.text(row, "application"), plan);
    if (freedom_ == JobFreedom::none && !seconds.contains(gpus))
      throw table.wrong(row, "exec_plan", fmt::format("it was not measured on {} GPUs", gpus));
    auto model = std::make_shared<TableModel>(std::move(seconds), table.number(row, "steps", 1, kMostWork));
    return {table.text(row, "name"), table.number(row, "submission_time", 0, kLatest), gpus, std::move(model)};
  }

 private:
  std::string path_of(const std::string& application) const { return options_.traces + "/" + application + ".csv"; }

  const std::vector<RubickRow>& measured(const std::string& application) {
    std::vector<RubickRow>& rows = measured_[application];
    if (!rows.empty()) return rows;
    const CsvTable table(path_of(application));
    for (std::size_t row = 0; row < table.num_rows(); ++row) {
      RubickRow measured = rubick_row(table, row);
      if (measured.step_s > 0) rows.push_back(std::move(measured));  // 0: did not fit into memory
    }
    return rows;
  }

  /// By GPUs: the user's strategy, or the best.
  std::map<int, double> seconds_of(const std::string& application, const std::string& plan) {
    std::map<int, std::pair<int, double>> best;  // nodes, seconds
    for (const RubickRow& row : measured(application)) {
      if (freedom_ == JobFreedom::none && row.plan != plan) continue;
      // Compared nodes first: fewer nodes win, and on as many nodes the shorter step.
      const std::pair found(static_cast<int>(row.placement.size()), row.step_s);
      const auto [at, is_new] = best.emplace(row.gpus, found);
      if (!is_new) at->second = std::min(at->second, found);
    }
    std::map<int, double> seconds;
    for (const auto& [gpus, time] : best)
      seconds.emplace(gpus, time.second);
    return seconds;
  }

  const ReplayOptions& options_;
  JobFreedom freedom_;
  std::map<std::string, std::vector<RubickRow>> measured_;
};

/// Rates by GPUs.
class TableReader {
 public:
  TableReader(const ReplayOptions& options, JobFreedom freedom) : options_(options), freedom_(freedom) {}

  JobRequest read(const CsvTable& table, std::size_t row) {
    const std::string& name = table.text(row, "table");
    std::map<int, double>& seconds = seconds_[name];
    if (seconds.empty()) seconds = read_rates(options_.traces + "/" + name + ".csv");
    const int gpus = read_gpus(table, row, "gpus", options_.cluster, freedom_);
    if (freedom_ == JobFreedom::none && !seconds.contains(gpus))
      throw table.wrong(row, "gpus", fmt::format("{} has no rate for it", name));
    auto model = std::make_shared<TableModel>(seconds, table.number(row, "work", kLeastWork, kMostWork));
    return {table.text(row, "name"), table.number(row, "submission_s", 0, kLatest), gpus, std::move(model)};
  }

 private:
  static std::map<int, double> read_rates(const std::string& path) {
    const CsvTable table(path);
    std::map<int, double> seconds;
    for (std::size_t row = 0; row < table.num_rows(); ++row) {
      const int gpus = static_cast<int>(table.whole(row, "gpus", 1, std::numeric_limits<int>::max()));
      const double rate = table.number(row, "rate", 0, kMostWork);
      if (rate > 0 && rate < kLeastRate)
        throw table.wrong(row, "rate", fmt::format("expected 0, or {} to {}", kLeastRate, kMostWork));
      if (rate > 0 && !seconds.emplace(gpus, 1 / rate).second)
        throw table.wrong(row, "gpus", "an earlier row has the same count");
    }
    return seconds;
  }

  const ReplayOptions& options_;
  JobFreedom freedom_;
  std::map<std::string, std::map<int, double>> seconds_;
};

/// Refuses jobs whose replay would take rounds without end.
class DurationCheck {
 public:
  DurationCheck(const ReplayOptions& options, JobFreedom freedom) : cluster_(options.cluster), freedom_(freedom) {}

  /// \throws DataError that names the job and its line
  void check(const JobRequest& job, const CsvTable& table, std::size_t row) {
    const double seconds = freedom_ == JobFreedom::none ? job.model->remaining_seconds(job.gpus, 0, 0) : shortest(job);
    if (!std::isfinite(seconds) || seconds <= kLongestJob) return;  // one that cannot run is found by the simulation
    throw DataError(
        fmt::format("{}: job {} takes {:.3g} s", table.place(row), job.name, seconds),
        fmt::format("{}; a replayed job takes at most {:.3g} s",
                    freedom_ == JobFreedom::none ? fmt::format("on the {} that it asks for", counted(job.gpus, "GPU"))
                                                 : std::string("on the GPUs that serve it best"),
                    kLongestJob),
        "Check its work and the rates of its table, or leave it out.");
  }

 private:
  double shortest(const JobRequest& job) {
    const auto [known, is_new] = seconds_.try_emplace(job.model, std::numeric_limits<double>::infinity());
    if (is_new)
      for (const int gpus : usable_counts(*job.model, cluster_))
        known->second = std::min(known->second, job.model->remaining_seconds(gpus, 0, 0));
    return known->second;
  }

  Machine cluster_;
  JobFreedom freedom_;
  std::map<std::shared_ptr<const JobModel>, double> seconds_;
};

void sort_and_check(std::vector<JobRequest>& jobs, const std::string& path) {
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const JobRequest& a, const JobRequest& b) { return a.submission_s < b.submission_s; });
  std::set<std::string> names;
  for (const JobRequest& job : jobs)
    if (!names.insert(job.name).second) throw DataError(fmt::format("two jobs of {} are named {}", path, job.name));
  if (jobs.empty()) throw DataError(path + " has no job that can be replayed");
}

}  // namespace

Workload read_workload(const ReplayOptions& options, JobFreedom freedom) {
  const CsvTable table(options.workload);
  PolluxReader pollux(options, freedom);
  RubickReader rubick(options, freedom);
  TableReader tables(options, freedom);
  Workload workload;
  std::map<std::string, int> left_out;
  DurationCheck durations(options, freedom);
  const auto add = [&](JobRequest job, std::size_t row) {
    durations.check(job, table, row);
    workload.jobs.push_back(std::move(job));
  };
  for (std::size_t row = 0; row < table.num_rows(); ++row) {
    if (options.layout == ReplayLayout::pollux)
      add(pollux.read(table, row), row);
    else if (options.layout == ReplayLayout::multicard)
      add(tables.read(table, row), row);
    else if (rubick.knows(table, row))
      add(rubick.read(table, row), row);
    else
      ++left_out[table.text(row, "application")];
  }
  workload.left_out.assign(left_out.begin(), left_out.end());
  if (options.layout == ReplayLayout::rubick) workload.times.restart_s = kRubickRestart;
  sort_and_check(workload.jobs, options.workload);
  return workload;
}

}  // namespace multicard
