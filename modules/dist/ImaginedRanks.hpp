#pragma once
/// \file Collectives of ranks that are not there.

#include "dist/TensorCollectives.hpp"

namespace multicard {

/// Those of rank 0 of a job that this process makes up: whatever the others would have done is done at once, as if they
/// had what this rank has, but parts that are gathered are zero. Measures what a rank of such a job would take.
class ImaginedRanks final : public TensorCollectives {
 public:
  ImaginedRanks(int size, at::Device device) : size_(size), device_(device) {}

  int rank() const override { return 0; }
  int size() const override { return size_; }
  at::Device device() const override { return device_; }
  const char* name() const override { return "imagined"; }
  at::Tensor allocate_flat(std::int64_t numel, at::ScalarType type) override;
  std::unique_ptr<Work> start_all_reduce(const at::Tensor& flat, const ReduceOptions& options) override;
  std::unique_ptr<Work> start_small_all_reduce(const at::Tensor& flat) override;
  std::unique_ptr<Work> start_all_gather(const at::Tensor& part, const at::Tensor& whole) override;
  std::unique_ptr<Work> start_reduce_scatter(const at::Tensor& flat, CommDtype comm_dtype) override;
  void broadcast(const std::vector<at::Tensor>& tensors, int root) override;
  void scatter_rows(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows,
                    int root) override;
  std::map<std::string, CommunicationTotals> totals() override { return {}; }

 private:
  int size_;
  at::Device device_;
};

}  // namespace multicard
