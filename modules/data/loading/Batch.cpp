#include "data/loading/Batch.hpp"

#include "base/Blocks.hpp"

namespace multicard {

Batch Batch::rows(std::int64_t first, std::int64_t count) const {
  Batch part = *this;
  part.num_rows = count;
  part.inputs = inputs.narrow(0, first, count);
  part.targets = targets.narrow(0, first, count);
  if (windows.defined()) part.windows = windows.narrow(0, first, count);
  if (!shapes.empty()) part.shapes.assign(shapes.begin() + first, shapes.begin() + first + count);
  if (!row_numbers.empty()) part.row_numbers.assign(row_numbers.begin() + first, row_numbers.begin() + first + count);
  return part;
}

std::vector<at::Tensor> Batch::tensors() const {
  std::vector<at::Tensor> all{inputs, targets};
  if (windows.defined()) all.push_back(windows);
  return all;
}

Batch local_shard(Batch batch, const ReadPlan& plan) {
  if (plan.reading != Reading::replicated) return batch;
  const Block own = block_of(batch.num_rows, plan.rank, plan.num_ranks);
  return batch.rows(own.first, own.count);
}

}  // namespace multicard
