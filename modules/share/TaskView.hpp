#pragma once
/// \file What a decision knows of the tasks, and simple ways of dividing ranks among them.

#include <set>
#include <string>
#include <vector>

#include "scaling/RateTable.hpp"

namespace multicard {

/// What a decision knows of a task that has not ended.
struct TaskView {
  std::string name;
  double steps_left = 0;
  double weight = 1;
  int min_ranks = 1, max_ranks = 1;
  int ranks = 0;            ///< that it has now
  int first_rank = 0;       ///< of those
  int fixed_ranks = 0;      ///< by the policy fixed
  RateTable rates;          ///< steps per second by ranks, measured or predicted; empty: nothing is known of it yet
  std::set<int> unproven;   ///< ranks whose rate is a prediction that only a measurement can confirm
  std::set<int> proven_on;  ///< ranks it has trained on: it moves there without a checkpoint
  double move_s = 0;        ///< seconds that moving it takes
  double save_s = 0;        ///< seconds that a checkpoint takes

  bool is_unknown() const { return rates.rows().empty(); }
};

/// Steps per second on so many ranks; 0 where that is not known.
double rate_on(const TaskView& task, int ranks);

/// Seconds until the first task ends on `ranks`; infinite where none does.
double first_end(const std::vector<TaskView>& tasks, const std::vector<int>& ranks);

std::vector<int> present_ranks(const std::vector<TaskView>& tasks);
/// How many tasks have ranks.
int number_served(const std::vector<int>& ranks);
int sum_of(const std::vector<int>& ranks);

/// As many as each wants, in order, while they last; what is below a task's least is not given.
std::vector<int> given_in_order(const std::vector<TaskView>& tasks, const std::vector<int>& wanted, int num_ranks);

/// The equal share of task `index` of `number`: the remainder goes to the first. Tasks that arrive have an index beyond
/// `number`, that of the deck's tasks, which may be 0.
int equal_share(std::size_t index, std::size_t number, int num_ranks);
/// The equal share of each, but as many as it needs at least.
std::vector<int> equal_ranks(const std::vector<TaskView>& tasks, int num_ranks);
/// All ranks that the first task may have.
std::vector<int> first_alone(const std::vector<TaskView>& tasks, int num_ranks);

/// Seconds that all ranks wait when the tasks get `ranks`: those of checkpoints, which are written together before
/// tasks move to a number of ranks that they have not trained on, and those of the moves, one after the other. Tasks
/// that keep their number of ranks may have to make room. 0 where no task has ranks: nobody waits.
double cost_of_moves(const std::vector<TaskView>& tasks, const std::vector<int>& ranks, int num_ranks);

}  // namespace multicard
