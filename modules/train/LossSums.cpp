#include "train/LossSums.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace multicard {

LossSums::LossSums(const std::vector<SumKind>& kinds) {
  // Which every run records itself.
  std::set<std::string> names{"train_loss", "learning_rate", "grad_norm", "loss_scale", "skipped", "samples"};
  for (const SumKind& kind : kinds)
    if (!names.insert(kind.name).second)
      throw std::logic_error("a model names the sum " + kind.name + ", which is recorded already");
    else if (kind.use == SumUse::metric)
      metrics_.push_back(kind.name);
    else
      counts_[kind.name] = 0;
  numbers_.assign(metrics_.size(), 0.0);
}

void LossSums::add(const Loss& loss, const StepStatus& status) {
  for (const NamedSum& sum : loss.sums) {
    const auto count = counts_.find(sum.name);
    const auto metric = std::find(metrics_.begin(), metrics_.end(), sum.name);
    if (count == counts_.end() && metric == metrics_.end())
      throw std::logic_error("a loss carries the sum " + sum.name + ", which its model does not name");
    if (metric != metrics_.end())
      add_metric(static_cast<std::size_t>(metric - metrics_.begin()), sum, status);
    else if (const auto* number = std::get_if<double>(&sum.value))
      count->second += static_cast<std::int64_t>(*number);
    else
      throw std::logic_error("the count " + sum.name + " is a tensor");
  }
}

void LossSums::add_metric(std::size_t number, const NamedSum& sum, const StepStatus& status) {
  if (const auto* value = std::get_if<double>(&sum.value))
    numbers_[number] += *value;
  else
    status.sum(static_cast<std::int64_t>(number)).add_(std::get<at::Tensor>(sum.value).detach());
}

std::map<std::string, std::int64_t> LossSums::finish(const StepStatus& status) {
  for (std::size_t i = 0; i < numbers_.size(); ++i)
    // At most one small write to the device for each metric and step, and none where the host had nothing to add.
    if (numbers_[i] != 0) status.sum(static_cast<std::int64_t>(i)).add_(numbers_[i]);
  std::fill(numbers_.begin(), numbers_.end(), 0.0);
  // All names, also those without a count: a record has as many values of each column as it has steps.
  std::map<std::string, std::int64_t> counts = counts_;
  for (auto& [name, count] : counts_)
    count = 0;
  return counts;
}

std::vector<std::pair<std::string, double>> LossSums::named(const std::vector<double>& status) const {
  std::vector<std::pair<std::string, double>> sums;
  for (std::size_t i = 0; i < metrics_.size(); ++i)
    sums.emplace_back(metrics_[i], status[StepStatus::kNumFields + i]);
  return sums;
}

}  // namespace multicard
