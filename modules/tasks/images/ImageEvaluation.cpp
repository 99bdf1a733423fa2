#include "tasks/images/ImageEvaluation.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>

#include "device/Readback.hpp"
#include "nn/losses/Losses.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kTop = 5;

/// Counts pairs of one rank. They stay on the device until all batches are through, so that none waits for it.
class PairCounter {
 public:
  void add(const Classified& batch) {
    actual_.push_back(batch.labels.clone());  // the loader uses its memory again
    predicted_.push_back(batch.logits.argmax(1));
  }
  Confusion counts() const {
    Confusion found;
    if (actual_.empty()) return found;
    const at::Tensor actual = at::cat(actual_).cpu(), predicted = at::cat(predicted_).cpu();
    const auto* from = actual.const_data_ptr<std::int64_t>();
    const auto* to = predicted.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < actual.numel(); ++i)
      ++found[{from[i], to[i]}];
    return found;
  }

 private:
  std::vector<at::Tensor> actual_, predicted_;
};

/// Collective. The sum of what the ranks counted, on all ranks.
/// Triples rather than a matrix: of thousands of classes most pairs never occur, and a full matrix would be quadratic
/// in them on every rank.
Confusion sum_over_ranks(const Confusion& mine, const Communicator& communicator) {
  std::vector<std::int64_t> triples;
  for (const auto& [pair, count] : mine)
    triples.insert(triples.end(), {pair.first, pair.second, count});
  const std::string bytes(reinterpret_cast<const char*>(triples.data()), triples.size() * sizeof(std::int64_t));
  Confusion sum;
  for (const std::string& theirs : communicator.allgather(bytes)) {
    triples.resize(theirs.size() / sizeof(std::int64_t));
    if (!theirs.empty()) std::memcpy(triples.data(), theirs.data(), theirs.size());
    for (std::size_t i = 0; i < triples.size(); i += 3)
      sum[{triples[i], triples[i + 1]}] += triples[i + 2];
  }
  return sum;
}

constexpr std::size_t kNumTotals = 3;

/// Summed loss, correct rows and rows correct among the first five: float64 on the device.
at::Tensor totals_of(const Classified& batch) {
  return at::stack({cross_entropy(batch.logits, batch.labels, 1).to(at::kDouble),
                    num_correct(batch.logits, batch.labels).to(at::kDouble),
                    num_correct_in_top(batch.logits, batch.labels, kTop).to(at::kDouble)});
}

}  // namespace

ImageScores evaluate_images(DataSource& test_set, const std::function<Classified(const Batch&)>& classify,
                            const Communicator& communicator, Detail detail, BlockHooks* hooks) {
  std::optional<BatchSums> totals;
  PairCounter pairs;
  // Sums in float64 hold counts exactly up to 2^53; the division comes after the sum over ranks, so that ranks with
  // fewer rows do not weigh more.
  double num_rows = 0;
  const auto add = [&](const Batch& rows) {
    const Classified batch = classify(rows);
    if (!totals) totals.emplace(batch.logits.device(), kNumTotals);
    totals->add(totals_of(batch));
    if (detail == Detail::classes) pairs.add(batch);
    num_rows += static_cast<double>(rows.num_rows);
  };
  with_unequal_passes(hooks, [&] { for_each_batch(test_set, communicator, add); });
  std::array<double, kNumTotals + 1> sums{0, 0, 0, num_rows};
  if (totals) std::ranges::copy(totals->finish(), sums.begin());
  // A rank without any row has no logits, and with them no device sums: it still takes part, with zeros.
  communicator.allreduce(std::span<double>(sums), ReduceOp::sum);
  ImageScores scores;
  scores.totals = {sums[0] / sums[3], sums[1] / sums[3], sums[2] / sums[3], static_cast<std::int64_t>(sums[3])};
  if (detail == Detail::classes) scores.confusion = sum_over_ranks(pairs.counts(), communicator);
  return scores;
}

}  // namespace multicard
