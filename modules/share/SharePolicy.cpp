#include "share/SharePolicy.hpp"

namespace multicard {

ShareDecision decide(const SharePolicyOptions& policy, Objective objective, const std::vector<TaskView>& tasks,
                     int num_ranks) {
  if (tasks.empty()) return {{}, 0, 0, "all tasks have ended"};
  switch (policy.name) {
    case SharePolicyName::adaptive:
      return decide_adaptively(policy, objective, tasks, num_ranks);
    case SharePolicyName::equal:
    case SharePolicyName::fixed: {
      std::vector<int> wanted;
      wanted.reserve(tasks.size());
      for (const TaskView& task : tasks)
        wanted.push_back(task.fixed_ranks);
      const std::vector<int> ranks = given_in_order(tasks, wanted, num_ranks);
      return {ranks, 0, cost_of_moves(tasks, ranks, num_ranks), "as the policy says"};
    }
    case SharePolicyName::sequential: {
      const std::vector<int> ranks = first_alone(tasks, num_ranks);
      return {ranks, 0, cost_of_moves(tasks, ranks, num_ranks), "one task after another"};
    }
  }
  return {present_ranks(tasks), 0, 0, ""};
}

}  // namespace multicard
