#pragma once
/// \file What policies know of the tasks, and simple ways of dividing ranks among them.

#include <set>
#include <string>
#include <vector>

#include "scheduling/policy/JobModel.hpp"
#include "scheduling/policy/Layout.hpp"
#include "scheduling/rates/RateTable.hpp"

namespace multicard {

/// What policies know of a task that has not ended. Each reads what it is made for; a driver (`share`, a replay) fills
/// in what it knows.
struct TaskView {
  std::string name;
  double weight = 1;
  double steps_left = 0;
  int min_ranks = 1, max_ranks = 1;
  std::vector<int> usable_ranks;  ///< rising, between both; empty: any number between both
  int requested = 0;              ///< ranks, by its user or by the policy of a deck
  Placement placement;            ///< that it has now

  /// \name Measured, for the adaptive policy
  /// @{
  RateTable rates;  ///< steps per second by ranks, measured or predicted; empty: nothing is known of it yet
  std::set<RanksOnNodes> unproven;  ///< whose rate is a prediction that only a measurement can confirm
  std::set<int> proven_on;          ///< ranks it has trained on: it moves there without a checkpoint
  double move_s = 0;                ///< seconds that moving it takes
  double save_s = 0;                ///< seconds that a checkpoint takes
  /// @}

  /// \name Its history
  /// @{
  double submitted_s = 0;
  double attained_service = 0;  ///< GPU-seconds that it held so far, waiting for restarts included
  int num_restarts = 0;         ///< how often its GPUs changed after its first start
  /// @}

  /// \name What a replay knows in advance
  /// @{
  const JobModel* model = nullptr;
  int epoch = 0;
  double progress = 0;
  /// @}

  int ranks() const { return gpus_of(placement); }
  /// Over which its ranks are spread.
  int nodes() const { return static_cast<int>(node_counts(placement).size()); }
  bool is_unknown() const { return rates.rows().empty(); }
};

/// The largest number of ranks up to `ranks` that the task can use; 0 where there is none.
int usable_within(const TaskView& task, int ranks);

/// Steps per second there, on the best number of nodes where that is open; 0 where it is not known.
double rate_on(const TaskView& task, const RanksOnNodes& at);

/// Seconds until the first task ends there; infinite where none does.
double first_end(const std::vector<TaskView>& tasks, const std::vector<RanksOnNodes>& places);

std::vector<int> present_ranks(const std::vector<TaskView>& tasks);
/// With their nodes, where decisions are about them.
std::vector<RanksOnNodes> present_places(const std::vector<TaskView>& tasks, const Layout& layout);
/// How many tasks have ranks.
int number_served(const std::vector<int>& ranks);
int sum_of(const std::vector<int>& ranks);

/// Each task's demand, in order, while ranks are left; what is below a task's least is not given.
std::vector<int> given_in_order(const std::vector<TaskView>& tasks, const std::vector<int>& wanted, int num_ranks);

/// The equal share of task `index` of `number`: the remainder goes to the first. Tasks that arrive have an index beyond
/// `number`, that of the deck's tasks, which may be 0.
int equal_share(std::size_t index, std::size_t number, int num_ranks);
/// The equal share of each, but as many as it needs at least.
std::vector<int> equal_ranks(const std::vector<TaskView>& tasks, int num_ranks);
/// All ranks that the first task may have.
std::vector<int> first_alone(const std::vector<TaskView>& tasks, int num_ranks);

/// Seconds that tasks lose when they get these ranks. Tasks that keep their number of ranks may have to make room. 0
/// where no task has ranks: none waits.
///
/// - MoveOrder::in_turn: all ranks wait for the checkpoints, which are written together before tasks move to a number
/// of
///   ranks that they have not trained on, and for the moves, one after the other.
/// - MoveOrder::at_once: only those that move wait; the mean over all tasks.
double cost_of_moves(const std::vector<TaskView>& tasks, const std::vector<RanksOnNodes>& places, const Layout& layout);
/// The same with open numbers of nodes.
double cost_of_moves(const std::vector<TaskView>& tasks, const std::vector<int>& ranks, const Layout& layout);

}  // namespace multicard
