#include "dist/BucketPlan.hpp"

namespace multicard {

namespace {

/// Gradients start on 256 bytes (float32), so that vector loads and device kernels find them aligned.
constexpr std::int64_t kAlignment = 64;

std::int64_t aligned(std::int64_t numel, std::int64_t alignment) {
  return (numel + alignment - 1) / alignment * alignment;
}

}  // namespace

BucketPlan BucketPlan::make(const std::vector<at::Tensor>& parameters, const Limits& limits, int num_parts) {
  BucketPlan plan;
  const std::int64_t alignment = num_parts > 1 ? kPartAlignment : kAlignment;
  const auto close = [&](Bucket& bucket) {
    const std::int64_t whole = num_parts > 1 ? aligned(bucket.numel, kPartAlignment * num_parts) : bucket.numel;
    plan.capacity[bucket.type] += whole - bucket.numel;
    bucket.numel = whole;
  };
  plan.places.resize(parameters.size());
  // One bucket of each type is open; what does not fit closes it for good. Filling up earlier buckets would save little
  // memory and delay their sums, since a later gradient would be missing in them. Every rank makes the same plan, from
  // shapes alone: the numbers of buckets are the order in which all ranks start them.
  std::map<at::ScalarType, std::size_t> open;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    const at::ScalarType type = parameters[i].scalar_type();
    const std::int64_t numel = aligned(parameters[i].numel(), alignment);
    const auto bytes = [&](std::int64_t elements) {
      return elements * static_cast<std::int64_t>(c10::elementSize(type));
    };
    const auto found = open.find(type);
    const bool fits = found != open.end() && bytes(plan.buckets[found->second].numel + numel) <=
                                                 (found->second == 0 ? limits.first : limits.other);
    if (!fits) {
      if (found != open.end()) close(plan.buckets[found->second]);
      open[type] = plan.buckets.size();
      plan.buckets.push_back({type, plan.capacity[type], 0, 0});
    }
    Bucket& bucket = plan.buckets[open[type]];
    plan.places[i] = {open[type], bucket.offset + bucket.numel};
    bucket.numel += numel;
    bucket.num_members += 1;
    plan.capacity[type] += numel;
  }
  for (const auto& [type, bucket] : open)
    close(plan.buckets[bucket]);
  return plan;
}

}  // namespace multicard
