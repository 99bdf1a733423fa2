#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include "dist/TensorCollectives.hpp"

namespace multicard {

namespace {

/// The bytes of host tensors as one tensor on `device`.
at::Tensor packed(const std::vector<at::Tensor>& tensors, at::Device device) {
  std::vector<at::Tensor> bytes;
  bytes.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors)
    bytes.push_back(tensor.contiguous().view({-1}).view(at::kByte));
  return at::cat(bytes).to(device);
}

void unpack(const at::Tensor& packed, const std::vector<at::Tensor>& tensors) {
  const at::Tensor bytes = packed.cpu();
  std::int64_t first = 0;
  for (const at::Tensor& tensor : tensors) {
    const auto count = static_cast<std::int64_t>(tensor.nbytes());
    // The bytes follow each other without padding. A view of another element type must start on a multiple of its size,
    // hence the clone.
    tensor.copy_(bytes.narrow(0, first, count).clone().view(tensor.scalar_type()).view(tensor.sizes()));
    first += count;
  }
}

}  // namespace

void broadcast_tensors(const std::vector<at::Tensor>& tensors, TensorCollectives& collectives, int root) {
  if (collectives.size() == 1) return;
  const at::NoGradGuard no_grad;
  // On a GPU what stays on the host (counters of normalisation, say) is many tensors of a few bytes: one upload, one
  // broadcast and one download for all of them. Shapes and types are equal on all ranks, so all pack the same bytes.
  std::vector<at::Tensor> here, elsewhere, dense;
  for (const at::Tensor& tensor : tensors)
    (tensor.device().type() == collectives.device().type() ? here : elsewhere).push_back(tensor.detach());
  for (const at::Tensor& tensor : here)
    dense.push_back(tensor.is_non_overlapping_and_dense() ? tensor : tensor.contiguous());
  if (!elsewhere.empty()) dense.push_back(packed(elsewhere, collectives.device()));
  if (dense.empty()) return;
  collectives.broadcast(dense, root);
  for (std::size_t i = 0; i < here.size(); ++i)
    if (!dense[i].is_alias_of(here[i])) here[i].copy_(dense[i]);
  if (!elsewhere.empty()) unpack(dense.back(), elsewhere);
}

}  // namespace multicard
