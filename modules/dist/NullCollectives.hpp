#pragma once
/// \file Collectives of one rank; for modules/dist only.

#include "dist/CommStats.hpp"
#include "dist/TensorCollectives.hpp"

namespace multicard {

/// One rank has the sum already. Needs no MPI.
class NullCollectives : public TensorCollectives {
 public:
  explicit NullCollectives(at::Device device) : device_(device) {}

  int rank() const override { return 0; }
  int size() const override { return 1; }
  at::Device device() const override { return device_; }
  const char* name() const override { return "null"; }
  at::Tensor allocate_flat(std::int64_t numel, at::ScalarType type) override;
  std::unique_ptr<Work> start_all_reduce(const at::Tensor& flat, const ReduceOptions& options) override;
  std::unique_ptr<Work> start_small_all_reduce(const at::Tensor& flat) override;
  std::unique_ptr<Work> start_all_gather(const at::Tensor& part, const at::Tensor& whole) override;
  std::unique_ptr<Work> start_reduce_scatter(const at::Tensor& flat, CommDtype comm_dtype) override;
  void broadcast(const std::vector<at::Tensor>& tensors, int root) override;
  void scatter_rows(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows,
                    int root) override;
  std::map<std::string, CommunicationTotals> totals() override { return stats_.totals(); }

 private:
  at::Device device_;
  CommStats stats_{1};
};

}  // namespace multicard
