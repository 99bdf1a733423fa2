#pragma once
/// \file Collectives that leave out the exchange of gradients, to measure what it costs; for modules/dist only.

#include <memory>

#include "dist/TensorCollectives.hpp"

namespace multicard {

/// Others' collectives of which all-reduces that are started, and reduce-scatters, are done at once and leave every
/// rank its own values. What holds ranks together stays: small sums (the loss, requests to stop), broadcasts, scattered
/// rows and gathered weights.
class SilentCollectives : public TensorCollectives {
 public:
  explicit SilentCollectives(std::unique_ptr<TensorCollectives> others) : others_(std::move(others)) {}

  int rank() const override { return others_->rank(); }
  int size() const override { return others_->size(); }
  at::Device device() const override { return others_->device(); }
  const char* name() const override { return "none"; }
  std::int64_t bucket_bytes() const override { return others_->bucket_bytes(); }
  at::Tensor allocate_flat(std::int64_t numel, at::ScalarType type) override {
    return others_->allocate_flat(numel, type);
  }
  /// Rounding to the communication dtype is left out too: it belongs to the exchange.
  std::unique_ptr<Work> start_all_reduce(const at::Tensor& flat, const ReduceOptions& options) override;
  std::unique_ptr<Work> start_small_all_reduce(const at::Tensor& flat) override {
    return others_->start_small_all_reduce(flat);
  }
  std::unique_ptr<Work> start_all_gather(const at::Tensor& part, const at::Tensor& whole) override {
    return others_->start_all_gather(part, whole);
  }
  std::unique_ptr<Work> start_reduce_scatter(const at::Tensor& flat, CommDtype comm_dtype) override;
  void broadcast(const std::vector<at::Tensor>& tensors, int root) override { others_->broadcast(tensors, root); }
  void scatter_rows(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows,
                    int root) override {
    others_->scatter_rows(all, mine, rows, root);
  }
  std::map<std::string, CommunicationTotals> totals() override { return others_->totals(); }
  void set_group(const RankGroup& group) override { others_->set_group(group); }

 private:
  std::unique_ptr<TensorCollectives> others_;
};

}  // namespace multicard
