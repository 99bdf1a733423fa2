#include "scheduling/plan/PlanIntervals.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/Quantiles.hpp"
#include "scheduling/model/Random.hpp"
#include "scheduling/plan/GpuLanes.hpp"

namespace multicard {

namespace {

constexpr int kDraws = 1000;
constexpr std::uint64_t kSeed = 20;

/// A rate of a task: as the table has it, and as it may be.
class DrawnRate {
 public:
  DrawnRate(const AllocationTask& task, const Choice& choice)
      : rate_(choice.rate), interval_(task.table.interval(choice)) {}

  double rate() const { return rate_; }
  /// By which the rate of this draw is larger; NaN where the rate has no interval.
  double factor() const { return factor_; }

  void draw(Random& random) {
    // Log-normal with a width for each side, so that 95 % of draws are in the interval of the rate. Drawn before the
    // check, which keeps the numbers of the other rates the same whether this one has an interval or not.
    const double normal = random.normal() / kNormalQuantile;
    if (!interval_) return;
    const double width = normal < 0 ? rate_ / interval_->low : interval_->high / rate_;
    factor_ = std::pow(std::max(1.0, width), normal);
  }

 private:
  double rate_;
  std::optional<Interval> interval_;
  double factor_ = kNone;
};

/// NaN where one of both is.
double later(double a, double b) {
  return std::isnan(a) || a > b ? a : b;
}

/// The choice of an entry: the fastest for its GPUs and nodes.
Choice choice_of(const AllocationProblem& problem, const ScheduleEntry& entry) {
  Choice found;
  for (const Choice& choice : problem.tasks[entry.task].table.usable(problem.machine))
    if (choice.gpus == entry.gpus && (choice.nodes == 0 || choice.nodes == entry.nodes) && choice.rate > found.rate)
      found = choice;
  return found;
}

std::optional<Interval> interval_of(const std::vector<double>& draws) {
  if (!std::all_of(draws.begin(), draws.end(), [](double value) { return std::isfinite(value); })) return std::nullopt;
  return Interval{percentile(draws, 0.025), percentile(draws, 0.975)};
}

class PlanDraws {
 public:
  PlanDraws(const AllocationProblem& problem, const Allocation& allocation)
      : problem_(problem), schedule_(allocation.schedule), drawn_(allocation.schedule) {
    for (const ScheduleEntry& entry : schedule_)
      used_.push_back(rate_of(entry.task, choice_of(problem, entry)));
    if (problem.objective == Objective::fairness)
      for (const ScheduleEntry& entry : schedule_)
        best_.push_back(rate_of(entry.task, problem.tasks[entry.task].table.best(problem.machine)));
    find_predecessors();
  }

  PlanIntervals intervals() {
    Random random(kSeed);
    std::vector<double> values;
    std::vector<std::vector<double>> ends(schedule_.size());
    for (int i = 0; i < kDraws; ++i) {
      for (auto& [key, rate] : rates_)
        rate.draw(random);
      run();
      values.push_back(is_about_time(problem_.objective) ? value_of_times() : value_of_rates());
      for (std::size_t entry = 0; entry < drawn_.size(); ++entry)
        ends[entry].push_back(drawn_[entry].end_s);
    }
    PlanIntervals found{interval_of(values), {}};
    for (const std::vector<double>& draws : ends)
      found.ends.push_back(interval_of(draws));
    return found;
  }

 private:
  // One draw for all entries with the same choice: they share the measurement, so that its error does not average out
  // over phases.
  const DrawnRate* rate_of(std::size_t task, const Choice& choice) {
    const std::tuple key{task, choice.gpus, choice.nodes};
    return &rates_.try_emplace(key, problem_.tasks[task], choice).first->second;
  }

  // A draw keeps the order of the schedule and not its times: an entry begins when the entries before it, of its task
  // and on its GPUs, have ended, however long they take.
  void find_predecessors() {
    predecessors_.resize(schedule_.size());
    std::map<std::size_t, std::size_t> latest;  // entry by task
    std::map<int, std::size_t> owner;           // entry by GPU
    for (const GpuBlock& block : gpu_blocks(schedule_, problem_.machine.gpus())) {
      std::vector<std::size_t>& before = predecessors_[block.entry];
      const auto [own, is_first] = latest.try_emplace(schedule_[block.entry].task, block.entry);
      if (!is_first && own->second != block.entry) before.push_back(std::exchange(own->second, block.entry));
      for (int gpu = block.first; gpu < block.first + block.count; ++gpu) {
        const auto [last, is_new] = owner.try_emplace(gpu, block.entry);
        if (!is_new) before.push_back(std::exchange(last->second, block.entry));
      }
    }
    for (std::size_t entry = 0; entry < schedule_.size(); ++entry)
      if (schedule_[entry].start_s > 0 && !follows_directly(entry)) add_simultaneous_ends(entry);
    for (std::vector<std::size_t>& before : predecessors_) {
      std::sort(before.begin(), before.end());
      before.erase(std::unique(before.begin(), before.end()), before.end());
    }
  }

  /// Whether a predecessor ends when the entry begins.
  bool follows_directly(std::size_t entry) const {
    return std::any_of(predecessors_[entry].begin(), predecessors_[entry].end(),
                       [&](std::size_t before) { return schedule_[before].end_s == schedule_[entry].start_s; });
  }

  /// What begins on idle GPUs begins when something else ends.
  void add_simultaneous_ends(std::size_t entry) {
    for (std::size_t i = 0; i < schedule_.size(); ++i)
      if (schedule_[i].end_s == schedule_[entry].start_s) predecessors_[entry].push_back(i);
  }

  /// The schedule with the rates of this draw.
  void run() {
    for (std::size_t i = 0; i < schedule_.size(); ++i) {
      double start = 0;
      for (const std::size_t before : predecessors_[i])
        start = later(drawn_[before].end_s, start);
      drawn_[i].start_s = start;
      drawn_[i].end_s = start + (schedule_[i].end_s - schedule_[i].start_s) / used_[i]->factor();
    }
  }

  double value_of_times() const {
    double sum = 0;
    for (const ScheduleEntry& entry : drawn_)
      sum += entry.end_s;
    return std::isfinite(sum) ? value_of(problem_, drawn_) : kNone;
  }

  double value_of_rates() const {
    std::vector<double> of_tasks(problem_.tasks.size(), 0);
    for (std::size_t i = 0; i < schedule_.size(); ++i) {
      const double rate = used_[i]->rate() * used_[i]->factor(), weight = problem_.tasks[schedule_[i].task].weight;
      of_tasks[schedule_[i].task] = problem_.objective == Objective::weighted_throughput
                                        ? weight * rate
                                        : rate / (weight * best_[i]->rate() * best_[i]->factor());
    }
    const double sum = std::accumulate(of_tasks.begin(), of_tasks.end(), 0.0);
    // A sum hands on NaN, from a rate without an interval; a minimum may not, as comparisons with NaN are false.
    if (std::isnan(sum) || problem_.objective == Objective::weighted_throughput) return sum;
    return *std::min_element(of_tasks.begin(), of_tasks.end());
  }

  const AllocationProblem& problem_;
  const TaskSchedule& schedule_;
  TaskSchedule drawn_;
  std::map<std::tuple<std::size_t, int, int>, DrawnRate> rates_;  ///< by task, GPUs and nodes
  std::vector<const DrawnRate*> used_, best_;                     ///< of each entry, and of its task on the machine
  std::vector<std::vector<std::size_t>> predecessors_;            ///< of each entry
};

}  // namespace

PlanIntervals predict_intervals(const AllocationProblem& problem, const Allocation& allocation) {
  const auto has_interval = [](const RateRow& row) { return row.interval.has_value(); };
  const bool is_any = std::ranges::any_of(
      problem.tasks, [&](const AllocationTask& task) { return std::ranges::any_of(task.table.rows(), has_interval); });
  if (!is_any) return {{}, std::vector<std::optional<Interval>>(allocation.schedule.size())};
  return PlanDraws(problem, allocation).intervals();
}

}  // namespace multicard
