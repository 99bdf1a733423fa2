#include "nn/KvCache.hpp"

#include <algorithm>

#include <ATen/ops/empty.h>

namespace multicard {
namespace {

at::Tensor with_room(const at::Tensor& held, std::int64_t num_held, std::int64_t needed, const at::Tensor& like) {
  if (held.defined() && held.size(0) >= needed) return held;
  constexpr std::int64_t kLeast = 256;
  at::Tensor larger = at::empty({std::max(kLeast, 2 * needed), like.size(1), like.size(2)}, like.options());
  if (num_held > 0) larger.narrow(0, 0, num_held).copy_(held.narrow(0, 0, num_held));
  return larger;
}

}  // namespace

KvCache::View KvCache::append(std::int64_t layer, const at::Tensor& keys, const at::Tensor& values) {
  const auto index = static_cast<std::size_t>(layer);
  if (layers_.size() <= index) layers_.resize(index + 1);
  View& held = layers_[index];
  const std::int64_t num_new = keys.size(0), total = num_tokens_ + num_new;
  const auto extended = [&](at::Tensor& all, const at::Tensor& added) {
    all = with_room(all, num_tokens_, total, added);
    all.narrow(0, num_tokens_, num_new).copy_(added);
    return all.narrow(0, 0, total);
  };
  return {extended(held.keys, keys), extended(held.values, values)};
}

}  // namespace multicard
