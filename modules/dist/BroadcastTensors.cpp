#include <algorithm>
#include <map>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include "dist/TensorCollectives.hpp"

namespace multicard {

namespace {

/// Of one message; bounds the copy that is made.
constexpr std::int64_t kMessageBytes = std::int64_t{64} << 20;

std::int64_t bytes_of(const at::Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.nbytes());
}

/// Packs tensors of one type, sends them, unpacks them.
void broadcast_group(const std::vector<at::Tensor>& group, TensorCollectives& collectives, int root) {
  std::int64_t numel = 0;
  for (const at::Tensor& tensor : group)
    numel += tensor.numel();
  const at::Tensor packed = at::empty({numel}, group.front().options().requires_grad(false));
  const bool sends = collectives.rank() == root;
  const auto each = [&](const auto& body) {
    std::int64_t first = 0;
    for (const at::Tensor& tensor : group) {
      body(tensor, packed.narrow(0, first, tensor.numel()).view(tensor.sizes()));
      first += tensor.numel();
    }
  };
  if (sends) each([](const at::Tensor& tensor, const at::Tensor& part) { part.copy_(tensor); });
  collectives.broadcast(packed, root);
  if (!sends) each([](const at::Tensor& tensor, const at::Tensor& part) { tensor.copy_(part); });
}

}  // namespace

void broadcast_tensors(const std::vector<at::Tensor>& tensors, TensorCollectives& collectives, int root) {
  const at::NoGradGuard no_grad;
  if (collectives.size() == 1) return;
  std::map<at::ScalarType, std::vector<at::Tensor>> groups;
  std::map<at::ScalarType, std::int64_t> bytes;
  for (const at::Tensor& tensor : tensors) {
    auto& group = groups[tensor.scalar_type()];
    auto& sum = bytes[tensor.scalar_type()];
    if (!group.empty() && sum + bytes_of(tensor) > kMessageBytes) {
      broadcast_group(group, collectives, root);
      group.clear();
      sum = 0;
    }
    group.push_back(tensor.detach());
    sum += bytes_of(tensor);
  }
  for (const auto& [type, group] : groups)
    if (!group.empty()) broadcast_group(group, collectives, root);
}

}  // namespace multicard
