#include "dist/TensorChecks.hpp"

#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

namespace multicard {

namespace {

void demand(bool met, const char* operation, const std::string& wants) {
  if (!met) throw std::invalid_argument(fmt::format("{} wants {}", operation, wants));
}

void demand_device(const at::Tensor& tensor, at::Device device, const char* operation) {
  demand(tensor.device().type() == device.type(), operation, fmt::format("a tensor on {}", device.str()));
}

}  // namespace

void check_all_reduce(const at::Tensor& flat, at::Device device, CommDtype comm_dtype, const char* operation) {
  demand(flat.defined() && flat.is_contiguous() && flat.dim() == 1, operation, "a contiguous 1-D tensor");
  demand_device(flat, device, operation);
  const at::ScalarType type = flat.scalar_type();
  demand(type == at::kFloat || type == at::kDouble || type == at::kBFloat16, operation, "float32, float64 or bfloat16");
  demand(comm_dtype == CommDtype::same || type == at::kFloat, operation, "float32 with a 16-bit communication dtype");
}

void check_dense(const at::Tensor& tensor, at::Device device, const char* operation) {
  demand(tensor.defined() && tensor.is_non_overlapping_and_dense(), operation, "tensors without gaps");
  demand_device(tensor, device, operation);
}

void check_scatter(const at::Tensor& all, const at::Tensor& mine, const std::vector<std::int64_t>& rows, int rank,
                   int root) {
  constexpr const char* kName = "scatter_rows";
  demand(mine.defined() && mine.is_contiguous() && mine.dim() > 0, kName, "a contiguous tensor to receive into");
  demand(rows.at(static_cast<std::size_t>(rank)) == mine.size(0), kName, "the number of rows given for this rank");
  if (rank != root) return;
  demand(all.defined() && all.is_contiguous(), kName, "a contiguous tensor to send");
  demand(all.scalar_type() == mine.scalar_type() && row_bytes(all) == row_bytes(mine), kName, "rows of equal shape");
  demand(all.size(0) == std::accumulate(rows.begin(), rows.end(), std::int64_t{0}), kName, "one block for each rank");
}

void check_all_gather(const at::Tensor& part, const at::Tensor& whole, at::Device device, int num_ranks) {
  constexpr const char* kName = "start_all_gather";
  for (const at::Tensor& tensor : {part, whole}) {
    demand(tensor.defined() && tensor.is_contiguous(), kName, "contiguous tensors");
    demand_device(tensor, device, kName);
  }
  demand(part.scalar_type() == whole.scalar_type() && whole.numel() == num_ranks * part.numel(), kName,
         "room for the parts of all ranks");
}

void check_reduce_scatter(const at::Tensor& flat, at::Device device, CommDtype comm_dtype, int num_ranks) {
  constexpr const char* kName = "start_reduce_scatter";
  check_all_reduce(flat, device, comm_dtype, kName);
  demand(flat.numel() % num_ranks == 0, kName, "equal parts for all ranks");
}

std::int64_t row_bytes(const at::Tensor& tensor) {
  std::int64_t elements = 1;
  for (const std::int64_t size : tensor.sizes().slice(1))
    elements *= size;
  return elements * static_cast<std::int64_t>(tensor.element_size());
}

std::int64_t bytes_of(const std::vector<at::Tensor>& tensors) {
  std::size_t bytes = 0;
  for (const at::Tensor& tensor : tensors)
    bytes += tensor.nbytes();
  return static_cast<std::int64_t>(bytes);
}

std::int64_t all_reduce_bytes(const at::Tensor& flat, CommDtype comm_dtype) {
  const std::size_t width = comm_dtype == CommDtype::same ? flat.element_size() : 2;
  return flat.numel() * static_cast<std::int64_t>(width);
}

}  // namespace multicard
