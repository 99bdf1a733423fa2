#include "kernels/SequencePlan.hpp"

#include <algorithm>

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include "base/Error.hpp"

namespace multicard {
namespace {

/// Counts tokens on the host, then moves the numbers to the device.
class PlanBuilder {
 public:
  void add(std::int64_t length, bool is_padding) {
    if (length == 0) return;
    const auto first = static_cast<std::int64_t>(positions_.size());
    const auto number = static_cast<std::int64_t>(plan_->sequences.size());
    // Also of padding, which flash attention takes for a sequence of its own; `sequences` leaves it out.
    boundaries_.push_back(static_cast<std::int32_t>(first));
    for (std::int64_t i = 0; i < length; ++i)
      positions_.push_back(i);
    sequence_of_.insert(sequence_of_.end(), static_cast<std::size_t>(length), is_padding ? 0 : number);
    if (!is_padding) plan_->sequences.push_back({first, length});
    plan_->longest = std::max(plan_->longest, length);
  }

  c10::intrusive_ptr<SequencePlan> finish(at::Device device) {
    plan_->num_tokens = static_cast<std::int64_t>(positions_.size());
    boundaries_.push_back(static_cast<std::int32_t>(plan_->num_tokens));
    plan_->positions = on_device(positions_, at::kLong, device);
    plan_->sequence_of = on_device(sequence_of_, at::kLong, device);
    if (!device.is_cpu()) plan_->boundaries = on_device(boundaries_, at::kInt, device);
    return plan_;
  }

 private:
  template <typename T>
  static at::Tensor on_device(const std::vector<T>& values, at::ScalarType dtype, at::Device device) {
    // Pinned, so that the host does not wait for the copy. LibTorch keeps the memory until the stream has passed it,
    // though the tensor ends here.
    const at::Tensor host = at::empty({static_cast<std::int64_t>(values.size())},
                                      at::TensorOptions().dtype(dtype).pinned_memory(!device.is_cpu()));
    std::copy(values.begin(), values.end(), host.mutable_data_ptr<T>());
    return host.to(device, dtype, /*non_blocking=*/true);
  }

  c10::intrusive_ptr<SequencePlan> plan_ = c10::make_intrusive<SequencePlan>();
  std::vector<std::int64_t> positions_, sequence_of_;
  std::vector<std::int32_t> boundaries_;
};

}  // namespace

c10::intrusive_ptr<SequencePlan> SequencePlan::of_rows(std::span<const RowShape> shapes, std::int64_t width,
                                                       at::Device device) {
  PlanBuilder builder;
  for (const RowShape& shape : shapes) {
    const std::int64_t padding = width - shape.num_tokens();
    if (padding < 0)
      throw DataError("a row of " + std::to_string(shape.num_tokens()) + " tokens does not fit its batch",
                      "the batch is " + std::to_string(width) + " tokens wide");
    for (const std::int64_t length : shape.lengths)
      builder.add(length, /*is_padding=*/false);
    builder.add(padding, /*is_padding=*/true);
  }
  return builder.finish(device);
}

c10::intrusive_ptr<SequencePlan> SequencePlan::of_continuations(std::span<const TokenSpan> positions,
                                                                at::Device device) {
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  auto plan = c10::make_intrusive<SequencePlan>();
  std::vector<at::Tensor> parts;
  for (const TokenSpan& span : positions) {
    plan->sequences.push_back({plan->num_tokens, span.length});
    plan->num_tokens += span.length;
    plan->longest = std::max(plan->longest, span.length);
    parts.push_back(at::arange(span.first, span.first + span.length, options));
  }
  plan->positions = at::cat(parts);
  return plan;
}

}  // namespace multicard
