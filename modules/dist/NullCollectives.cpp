#include "dist/NullCollectives.hpp"

#include <ATen/ops/zeros.h>

#include "dist/TensorChecks.hpp"

namespace multicard {

namespace {

class DoneWork : public Work {
 public:
  void wait() override {}
};

std::int64_t bytes_of(const at::Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.nbytes());
}

}  // namespace

at::Tensor NullCollectives::allocate_flat(std::int64_t numel, at::ScalarType type) {
  return at::zeros({numel}, at::TensorOptions().dtype(type).device(device_));
}

std::unique_ptr<Work> NullCollectives::start_sum(const at::Tensor& flat) {
  check_flat(flat, device_, "start_sum");
  ledger_.add(CollectiveKind::all_reduce, bytes_of(flat), 0, 0);
  return std::make_unique<DoneWork>();
}

void NullCollectives::sum(const at::Tensor& flat) {
  check_flat(flat, device_, "sum");
  ledger_.add(CollectiveKind::all_reduce, bytes_of(flat), 0, 0);
}

void NullCollectives::reduce(const at::Tensor& flat, int) {
  check_flat(flat, device_, "reduce");
  ledger_.add(CollectiveKind::reduce, bytes_of(flat), 0, 0);
}

void NullCollectives::broadcast(const at::Tensor& tensor, int) {
  check_contiguous(tensor, device_, "broadcast");
  ledger_.add(CollectiveKind::broadcast, bytes_of(tensor), 0, 0);
}

void NullCollectives::scatter_rows(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows,
                                   int root) {
  check_scatter(all, mine, rows, 0, root);
  at::Tensor target = mine;
  target.copy_(all);
  ledger_.add(CollectiveKind::scatter, bytes_of(all), 0, 0);
}

}  // namespace multicard
