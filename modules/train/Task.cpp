#include "train/Task.hpp"

#include "base/Blocks.hpp"

namespace multicard {

TokenCounts& TokenCounts::operator+=(const TokenCounts& other) {
  tokens += other.tokens;
  trained += other.trained;
  computed += other.computed;
  return *this;
}

Batch Batch::rows(std::int64_t first, std::int64_t count) const {
  Batch part = *this;
  part.num_rows = count;
  part.inputs = inputs.narrow(0, first, count);
  part.targets = targets.narrow(0, first, count);
  for (at::Tensor& detail : part.details)
    if (detail.defined()) detail = detail.narrow(0, first, count);
  if (!shapes.empty()) part.shapes.assign(shapes.begin() + first, shapes.begin() + first + count);
  return part;
}

std::vector<at::Tensor> Batch::tensors() const {
  std::vector<at::Tensor> all{inputs, targets};
  for (const at::Tensor& detail : details)
    if (detail.defined()) all.push_back(detail);
  return all;
}

Batch own_rows(Batch batch, const ReadPlan& plan) {
  if (plan.reading != Reading::whole) return batch;
  const Block own = block_of(batch.num_rows, plan.rank, plan.num_ranks);
  return batch.rows(own.first, own.count);
}

}  // namespace multicard
