#include "dist/NullCollectives.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include "dist/CommDtypeCodec.hpp"
#include "dist/TensorChecks.hpp"

namespace multicard {

namespace {

void round_to(CommDtype comm_dtype, const at::Tensor& flat) {
  if (comm_dtype == CommDtype::same) return;
  const at::NoGradGuard no_grad;
  flat.copy_(flat.to(type_of(comm_dtype)));
}

}  // namespace

at::Tensor NullCollectives::allocate_flat(std::int64_t numel, at::ScalarType type) {
  return at::zeros({numel}, at::TensorOptions().dtype(type).device(device_));
}

std::unique_ptr<Work> NullCollectives::start_all_reduce(const at::Tensor& flat, const ReduceOptions& options) {
  check_all_reduce(flat, device_, options.comm_dtype, "start_all_reduce");
  round_to(options.comm_dtype, flat);
  stats_.add(kind_of(options), all_reduce_bytes(flat, options.comm_dtype), {});
  return std::make_unique<DoneWork>();
}

std::unique_ptr<Work> NullCollectives::start_small_all_reduce(const at::Tensor& flat) {
  check_all_reduce(flat, device_, CommDtype::same, "all_reduce");
  stats_.add(CollectiveKind::all_reduce, all_reduce_bytes(flat, CommDtype::same), {});
  return std::make_unique<DoneWork>();
}

std::unique_ptr<Work> NullCollectives::start_all_gather(const at::Tensor& part, const at::Tensor& whole) {
  check_all_gather(part, whole, device_, 1);
  const at::NoGradGuard no_grad;
  if (part.const_data_ptr() != whole.const_data_ptr()) whole.view({-1}).copy_(part.view({-1}));
  stats_.add(CollectiveKind::all_gather, bytes_of({whole}), {});
  return std::make_unique<DoneWork>();
}

std::unique_ptr<Work> NullCollectives::start_reduce_scatter(const at::Tensor& flat, CommDtype comm_dtype) {
  check_reduce_scatter(flat, device_, comm_dtype, 1);
  round_to(comm_dtype, flat);
  stats_.add(CollectiveKind::reduce_scatter, all_reduce_bytes(flat, comm_dtype), {});
  return std::make_unique<DoneWork>();
}

void NullCollectives::broadcast(const std::vector<at::Tensor>& tensors, int) {
  for (const at::Tensor& tensor : tensors)
    check_dense(tensor, device_, "broadcast");
  stats_.add(CollectiveKind::broadcast, bytes_of(tensors), {});
}

void NullCollectives::scatter_rows(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows,
                                   int root) {
  check_scatter(all, mine, rows, 0, root);
  mine.copy_(all);
  stats_.add(CollectiveKind::scatter, bytes_of({all}), {});
}

}  // namespace multicard
