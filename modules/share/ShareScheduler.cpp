#include "share/ShareScheduler.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"
#include "scheduling/policy/AdaptivePolicy.hpp"
#include "scheduling/policy/SimplePolicies.hpp"
#include "share/PlacementNotes.hpp"
#include "share/ShareBaselines.hpp"

namespace multicard {

namespace {

std::unique_ptr<SchedulingPolicy> make_policy(SharePolicyName name, const AdaptiveOptions& adaptive,
                                              const Layout& layout) {
  switch (name) {
    case SharePolicyName::adaptive:
      return std::make_unique<AdaptivePolicy>(adaptive, layout);
    case SharePolicyName::sequential:
      return std::make_unique<SequentialPolicy>(layout);
    default:
      return std::make_unique<RequestedPolicy>(layout);
  }
}

Layout spread_as(Layout layout, Spread spread) {
  layout.spread = spread;
  return layout;
}

std::string seconds_text(const std::optional<double>& seconds) {
  return seconds ? fmt::format("{:.4g} s", *seconds) : std::string("impossible");
}

}  // namespace

ShareScheduler::ShareScheduler(const ShareOptions& options, const Layout& layout, ShareRecord record)
    : objective_(options.objective),
      policy_options_(options.policy),
      num_deck_tasks_(options.tasks.size()),
      layout_(spread_as(layout, options.policy.placement)),
      adaptive_{options.objective, options.policy.min_gain},
      policy_(make_policy(options.policy.name, adaptive_, layout_)),
      record_(std::move(record)) {}

std::size_t ShareScheduler::add(ScheduledTask task, bool is_resumed) {
  const int most = task.max_ranks(layout_.num_gpus);
  if (task.least_ranks() > most)
    throw UsageError(fmt::format("task {} cannot run", task.name()),
                     fmt::format("it needs {}, and can have {} here", counted(task.least_ranks(), "rank"), most),
                     "Start more ranks, or lower its min_ranks.")
        .on_all_ranks();
  if (is_resumed && task.is_active() && !record_.progress.contains(task.name()))
    record_.num_ranks = ShareRecord::kSeveral;  // on how many ranks its steps were done is unknown
  tasks_.push_back(std::make_unique<ScheduledTask>(std::move(task)));
  return tasks_.size() - 1;
}

bool ShareScheduler::has_active() const {
  return std::ranges::any_of(tasks_, [](const auto& task) { return task->is_active(); });
}

bool ShareScheduler::is_any_stopped() const {
  return std::ranges::any_of(tasks_, [](const auto& task) { return task->state() == TaskState::stopped; });
}

std::vector<RankSet> ShareScheduler::rank_sets() const {
  std::vector<RankSet> rank_sets;
  rank_sets.reserve(tasks_.size());
  for (const auto& task : tasks_)
    rank_sets.push_back(task->rank_set());
  return rank_sets;
}

std::string ShareScheduler::changes_text(const std::vector<RankSet>& decided) const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const int before = tasks_[i]->rank_set().count(), after = decided[i].count();
    if (before == 0 && after == 0) continue;
    const std::string change = before == after ? std::string() : fmt::format("{} -> ", before);
    texts.push_back(fmt::format("{}: {}{}", tasks_[i]->name(), change, counted(after, "rank")));
  }
  return join(texts, "; ");
}

std::optional<std::size_t> ShareScheduler::task_on(int rank) const {
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    if (tasks_[i]->rank_set().contains(rank)) return i;
  return std::nullopt;
}

std::vector<TaskView> ShareScheduler::views() const {
  std::vector<TaskView> views;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (!tasks_[i]->is_active()) continue;
    views.push_back(tasks_[i]->view(layout_.num_gpus));
    views.back().requested = requested_ranks(i);
  }
  return views;
}

/// Tasks that arrive have no entry in the policy.
int ShareScheduler::requested_ranks(std::size_t task) const {
  if (policy_options_.name != SharePolicyName::fixed) return equal_ranks(task, layout_.num_gpus);
  const auto entry = policy_options_.ranks.find(tasks_[task]->name());
  return entry == policy_options_.ranks.end() ? tasks_[task]->least_ranks() : entry->second;
}

int ShareScheduler::equal_ranks(std::size_t task, int num_ranks) const {
  return std::max(tasks_[task]->least_ranks(), equal_share(task, num_deck_tasks_, num_ranks));
}

ShareDecision ShareScheduler::decide(double now) {
  ShareDecision decided{std::vector<RankSet>(tasks_.size()), views(), {}};
  if (decided.active.empty()) return decided;
  ActiveTasks active;
  for (const TaskView& task : decided.active)
    active.push_back(&task);
  decided.decision = policy_->decide(now, active);
  std::size_t k = 0;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    if (tasks_[i]->is_active()) decided.rank_sets[i] = layout_.ranks_of(decided.decision.placements[k++]);
  return decided;
}

void ShareScheduler::adopt(const ShareDecision& decided, double now) {
  const Decision& decision = decided.decision;
  bool is_change = false;
  for (std::size_t k = 0; k < decided.active.size(); ++k) {
    const TaskView& task = decided.active[k];
    const NodeCounts counts = node_counts(decision.placements[k]);
    const int before = task.ranks(), after = gpus_of(decision.placements[k]), nodes = static_cast<int>(counts.size());
    // Kept until note_move(), which puts it into the interval that begins there.
    const double rate = rate_on(task, {after, layout_.has_several_nodes() ? nodes : 0});
    predicted_[task.name] = rate > 0 ? 1 / rate : 0;
    if (after == before && counts == node_counts(task.placement)) continue;
    is_change = true;
    record_.changes.push_back(
        {now, task.name, before, after, decision.gain, decision.cost_s, decision.reason, counts_text(counts)});
    const std::string on_nodes = layout_.has_several_nodes() && after > 0 ? " on " + nodes_text(counts) : "";
    log_info(fmt::format("{:>8.1f} s  {}: {} -> {}{} ({})", now, task.name, before, counted(after, "rank"), on_nodes,
                         decision.reason));
  }
  record_.decide(is_change, {now, decision.gain, decision.cost_s, decision.reason});
  note_placements(decided, now);
  log_expectation(decided.active);
}

/// What a step of each task takes where its ranks are now, and over other numbers of nodes: once for each set of tasks
/// and placements for which that is known.
void ShareScheduler::note_placements(const ShareDecision& decided, double now) {
  if (policy_options_.name != SharePolicyName::adaptive || !layout_.has_several_nodes()) return;
  PlacementNotes notes;
  for (std::size_t k = 0; k < decided.active.size(); ++k)
    notes.add(decided.active[k], node_counts(decided.decision.placements[k]), layout_.machine, now);
  if (notes.rows.empty() || notes.key == placed_for_) return;
  placed_for_ = notes.key;
  record_.placements.insert(record_.placements.end(), notes.rows.begin(), notes.rows.end());
  for (const std::string& line : notes.lines)
    log_info(line);
}

/// Once for each set of tasks, when steps of all of them have been measured. Moves are free in these values.
void ShareScheduler::log_expectation(const std::vector<TaskView>& tasks) {
  std::string names;
  for (const TaskView& task : tasks)
    names += task.name + '\n';
  if (policy_options_.name != SharePolicyName::adaptive || !is_about_time(objective_) || tasks.size() < 2 ||
      names == expected_for_)
    return;
  const std::optional<Allocation> best = expected_values(adaptive_, tasks, layout_.divided());
  if (!best) return;
  expected_for_ = names;
  log_info(fmt::format("{:<10}{} of what is left: {:.4g} s by sharing, {} one after another, {} in the equal split",
                       "expected", word_of(objective_, kObjectiveWords), best->value, seconds_text(best->sequential),
                       seconds_text(best->equal)));
  const double infinity = std::numeric_limits<double>::infinity();
  const double other = std::min(best->sequential.value_or(infinity), best->equal.value_or(infinity));
  if (best->value > other * (1 - policy_options_.min_gain))
    log_info(fmt::format("{:<10}sharing is not expected to gain {:.0f} % over {} for these tasks", "",
                         100 * policy_options_.min_gain,
                         other == best->sequential ? "one after another" : "the equal split"));
}

// No ranks count as a number that it has not run on: a task that will wait is saved too.
std::vector<std::size_t> ShareScheduler::at_risk(const std::vector<RankSet>& decided) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < tasks_.size(); ++i)
    if (tasks_[i]->has_ranks() && !tasks_[i]->has_run_on(decided[i].count())) found.push_back(i);
  return found;
}

void ShareScheduler::fail_arrival(const std::string& name, const Error& error) {
  failure_ = failure_.value_or(error.code());
  failed_arrivals_[name] = error.what();
}

void ShareScheduler::note_report(std::size_t task, const TaskReport& report) {
  tasks_[task]->note(report);
  record_.measure(tasks_[task]->name(), report.num_completed, report.step_s);
}

void ShareScheduler::note_move(std::size_t task, const RankSet& ranks, double seconds, double now) {
  tasks_[task]->run_on(ranks);
  if (!ranks.empty()) {
    tasks_[task]->note_move(seconds);
    record_.begin(layout_.num_gpus);
  }
  record_.note(tasks_[task]->name(), ranks, now, predicted_[tasks_[task]->name()],
               counts_text(tasks_[task]->placement()));
}

// Only an error of the environment, such as memory that does not suffice, may disappear on other ranks. After it, the
// decision is made again with the narrower range.
bool ShareScheduler::refuse_ranks(std::size_t task, int num_ranks, const Error& error, double now) {
  const bool can_choose = policy_options_.name != SharePolicyName::fixed && num_ranks > 0;
  tasks_[task]->run_on({});
  if (error.code() == ExitCode::environment && can_choose && tasks_[task]->refuse(num_ranks, layout_.num_gpus)) {
    record_.note(tasks_[task]->name(), {}, now);
    return true;
  }
  end(task, {TaskState::failed, error.code(), false, error.what()}, now);
  return false;
}

void ShareScheduler::end(std::size_t task, TaskEnd end, double now) {
  if (end.state == TaskState::failed) failure_ = failure_.value_or(end.code);
  tasks_[task]->end(std::move(end));
  record_.note(tasks_[task]->name(), {}, now);
}

// Their last checkpoint was written before they gave up their ranks (at_risk()), so nothing is lost here.
void ShareScheduler::stop_waiting() {
  for (const auto& task : tasks_)
    if (task->is_active() && !task->has_ranks()) task->end({TaskState::stopped, ExitCode::complete, false, {}});
}

std::vector<AllocationBaseline> ShareScheduler::baselines() const {
  const int ranks = record_.num_ranks;
  if (ranks <= 0) return {};
  std::vector<BaselineTask> tasks;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const ScheduledTask& task = *tasks_[i];
    if (task.state() != TaskState::complete || !record_.progress.contains(task.name())) return {};
    tasks.push_back({task.name(), task.least_ranks(), task.max_ranks(ranks), equal_ranks(i, ranks),
                     [&task](int number) { return task.point(number); },
                     [&task](const NodeCounts& counts) { return task.point(counts); }});
  }
  return predict_baselines(record_, tasks, ranks);
}

}  // namespace multicard
