#include "dist/BucketPlan.hpp"

namespace multicard {

namespace {

/// Gradients start on 256 bytes (float32), so that vector loads and device kernels find them aligned.
constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t numel) {
  return (numel + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

BucketPlan BucketPlan::make(const std::vector<at::Tensor>& parameters, const Limits& limits) {
  BucketPlan plan;
  plan.places.resize(parameters.size());
  // One bucket of each type is open; what does not fit closes it for good. Filling up earlier buckets would save little
  // memory and delay their sums, since a later gradient would be missing in them. Every rank makes the same plan, from
  // shapes alone: the numbers of buckets are the order in which all ranks start them.
  std::map<at::ScalarType, std::size_t> open;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    const at::ScalarType type = parameters[i].scalar_type();
    const std::int64_t numel = aligned(parameters[i].numel());
    const auto bytes = [&](std::int64_t elements) {
      return elements * static_cast<std::int64_t>(c10::elementSize(type));
    };
    const auto found = open.find(type);
    const bool fits = found != open.end() && bytes(plan.buckets[found->second].numel + numel) <=
                                                 (found->second == 0 ? limits.first : limits.other);
    if (!fits) {
      open[type] = plan.buckets.size();
      plan.buckets.push_back({type, plan.capacity[type], 0, 0});
    }
    Bucket& bucket = plan.buckets[open[type]];
    plan.places[i] = {open[type], bucket.offset + bucket.numel};
    bucket.numel += numel;
    bucket.num_members += 1;
    plan.capacity[type] += numel;
  }
  return plan;
}

}  // namespace multicard
