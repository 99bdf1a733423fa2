#include <ATen/core/grad_mode.h>

#include "dist/TensorCollectives.hpp"

namespace multicard {

void broadcast_tensors(const std::vector<at::Tensor>& tensors, TensorCollectives& collectives, int root) {
  if (collectives.size() == 1) return;
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> dense;
  for (const at::Tensor& tensor : tensors)
    dense.push_back(tensor.is_non_overlapping_and_dense() ? tensor.detach() : tensor.detach().contiguous());
  collectives.broadcast(dense, root);
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!dense[i].is_alias_of(tensors[i])) tensors[i].copy_(dense[i]);
}

}  // namespace multicard
