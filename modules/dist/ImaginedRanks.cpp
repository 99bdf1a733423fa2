#include "dist/ImaginedRanks.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "dist/TensorChecks.hpp"

namespace multicard {

at::Tensor ImaginedRanks::allocate_flat(std::int64_t numel, at::ScalarType type) {
  return at::zeros({numel}, at::TensorOptions().dtype(type).device(device_));
}

std::unique_ptr<Work> ImaginedRanks::start_all_reduce(const at::Tensor& flat, const ReduceOptions& options) {
  check_all_reduce(flat, device_, options.comm_dtype, "start_all_reduce");
  const at::NoGradGuard no_grad;
  at::Tensor(flat).mul_(size_);
  return std::make_unique<DoneWork>();
}

std::unique_ptr<Work> ImaginedRanks::start_small_all_reduce(const at::Tensor& flat) {
  return start_all_reduce(flat, {});
}

std::unique_ptr<Work> ImaginedRanks::start_all_gather(const at::Tensor& part, const at::Tensor& whole) {
  check_all_gather(part, whole, device_, size_);
  const at::NoGradGuard no_grad;
  at::Tensor(whole).zero_();
  return std::make_unique<DoneWork>();
}

std::unique_ptr<Work> ImaginedRanks::start_reduce_scatter(const at::Tensor& flat, CommDtype comm_dtype) {
  check_reduce_scatter(flat, device_, comm_dtype, size_);
  const at::NoGradGuard no_grad;
  const std::int64_t part = flat.numel() / size_;
  flat.narrow(0, 0, part).mul_(size_);
  return std::make_unique<DoneWork>();
}

void ImaginedRanks::broadcast(const std::vector<at::Tensor>& tensors, int) {
  for (const at::Tensor& tensor : tensors)
    check_dense(tensor, device_, "broadcast");
}

void ImaginedRanks::scatter_rows(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows,
                                 int root) {
  check_scatter(all, mine, rows, 0, root);
  at::Tensor(mine).copy_(all.narrow(0, 0, rows.front()));
}

}  // namespace multicard
