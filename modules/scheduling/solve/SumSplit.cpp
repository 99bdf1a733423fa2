#include "scheduling/solve/SumSplit.hpp"

#include <limits>
#include <utility>

namespace multicard {

namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

/// to[g] = max(to[g], from[g - gpus] + value), a loop that the compiler vectorises.
void take(const Offer& offer, const std::vector<double>& from, std::vector<double>& to) {
  const auto gpus = static_cast<std::size_t>(offer.gpus);
  if (gpus >= to.size()) return;
  const std::size_t count = to.size() - gpus;
  const double value = offer.value;
  const double* source = from.data();
  double* target = to.data() + gpus;
  for (std::size_t i = 0; i < count; ++i) {
    const double sum = source[i] + value;
    target[i] = target[i] < sum ? sum : target[i];
  }
}

}  // namespace

SumSplit::SumSplit(std::vector<std::vector<Offer>> offers, int gpus)
    : offers_(std::move(offers)), rows_(offers_.size() + 1) {
  const std::size_t length = static_cast<std::size_t>(gpus) + 1;
  // Zero for any number of GPUs left, so that all rows are for at most g GPUs and not for exactly g.
  rows_.back().assign(length, 0.0);
  for (std::size_t task = offers_.size(); task-- > 0;) {
    rows_[task].assign(length, kImpossible);
    for (const Offer& offer : offers_[task])
      take(offer, rows_[task + 1], rows_[task]);
  }
}

std::vector<std::size_t> SumSplit::chosen(std::size_t first, int gpus) const {
  std::vector<std::size_t> indices(offers_.size(), 0);
  for (std::size_t task = first; task < offers_.size(); ++task) {
    const std::vector<Offer>& offers = offers_[task];
    for (std::size_t i = 0; i < offers.size(); ++i) {
      // The same addition as in take(), so the same bits.
      if (offers[i].gpus > gpus || best(task + 1, gpus - offers[i].gpus) + offers[i].value != best(task, gpus))
        continue;
      indices[task] = i;
      gpus -= offers[i].gpus;
      break;
    }
  }
  return indices;
}

std::int64_t SumSplit::num_operations(const std::vector<std::vector<Offer>>& offers, int gpus) {
  std::int64_t operations = 0;
  for (const std::vector<Offer>& task : offers)
    for (const Offer& offer : task)
      operations += gpus + 1 - offer.gpus;
  return operations;
}

}  // namespace multicard
