#include "scheduling/solve/HullSplit.hpp"

#include <algorithm>
#include <tuple>

namespace multicard {

namespace {

ConcaveHull hull_of(const std::vector<Choice>& choices) {
  ConcaveHull hull;
  for (const Choice& choice : choices)
    hull.add({choice.gpus, choice.rate});
  return hull;
}

}  // namespace

HullSplit::HullSplit(const std::vector<std::vector<Choice>>& choices) : choices_(choices) {
  for (const std::vector<Choice>& one : choices)
    hulls_.push_back(hull_of(one));
}

void HullSplit::set_prices(const std::vector<double>& prices) {
  prices_ = prices;
  steps_.clear();
  for (std::size_t task = 0; task < hulls_.size(); ++task) {
    const std::vector<Utility>& corners = hulls_[task].corners();
    for (std::size_t corner = 1; prices[task] > 0 && corner < corners.size(); ++corner)
      steps_.push_back({prices[task] * slope(corners[corner - 1], corners[corner]), task, corner});
  }
  std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) {
    return std::tie(b.worth_per_gpu, a.task, a.corner) < std::tie(a.worth_per_gpu, b.task, b.corner);
  });
}

HullSplit::Found HullSplit::best(std::size_t first, int gpus) const {
  Found found{Split(hulls_.size()), 0, -1};
  std::vector<char> is_full(hulls_.size(), 0);
  int left = gpus;
  for (const Step& step : steps_) {
    if (step.task < first || is_full[step.task] != 0 || left == 0) continue;
    const std::vector<Utility>& corners = hulls_[step.task].corners();
    const Utility &from = corners[step.corner - 1], &to = corners[step.corner];
    if (to.gpus - from.gpus > left) {
      // The relaxation ends here, with a fraction of this step; the split continues with smaller ones.
      if (found.bound < 0) found.bound = found.worth + step.worth_per_gpu * left;
      is_full[step.task] = 1;
      continue;
    }
    left -= to.gpus - from.gpus;
    found.split[step.task] = {to.gpus, 0, to.value};
    found.worth += prices_[step.task] * (to.value - from.value);
  }
  if (found.bound < 0) found.bound = found.worth;
  return found;
}

void HullSplit::use_rest(std::size_t first, int gpus, Found& found) const {
  int left = gpus;
  for (const Choice& choice : found.split)
    left -= choice.gpus;
  double most = 0;
  std::size_t receiver = 0;
  Choice given;
  for (std::size_t task = first; task < choices_.size(); ++task) {
    const std::vector<Choice>& own = choices_[task];
    const int limit = found.split[task].gpus + left;
    const auto after =
        std::partition_point(own.begin(), own.end(), [&](const Choice& one) { return one.gpus <= limit; });
    if (after == own.begin()) continue;
    const Choice& largest = *(after - 1);  // the fastest, too
    const double gain = prices_[task] * (largest.rate - found.split[task].rate);
    if (!(gain > most)) continue;
    most = gain;
    receiver = task;
    given = largest;
  }
  if (!(most > 0)) return;
  found.split[receiver] = given;
  found.worth += most;
}

}  // namespace multicard
