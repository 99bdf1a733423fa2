#include "nn/language/KvCache.hpp"

#include <algorithm>

#include <ATen/ops/empty.h>

namespace multicard {
namespace {

// Doubling: all copies of growing together move at most about as many tokens as the final length.
std::int64_t room_at_once(std::int64_t needed) {
  constexpr std::int64_t kLeast = 256;
  return std::max(kLeast, 2 * needed);
}

at::Tensor with_room(const at::Tensor& held, std::int64_t num_held, std::int64_t needed, const at::Tensor& like) {
  if (held.defined() && held.size(0) >= needed) return held;
  at::Tensor larger = at::empty({room_at_once(needed), like.size(1), like.size(2)}, like.options());
  if (num_held > 0) larger.narrow(0, 0, num_held).copy_(held.narrow(0, 0, num_held));
  return larger;
}

}  // namespace

// num_tokens_ is the number before the pass for every layer; advance() raises it once all layers have appended.
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

std::int64_t KvCache::room_for(std::int64_t first, std::int64_t last) {
  std::int64_t room = room_at_once(first);
  while (room < last)
    room = room_at_once(room + 1);
  return room;
}

std::int64_t KvCache::bytes() const {
  std::int64_t bytes = 0;
  for (const View& layer : layers_)
    bytes += static_cast<std::int64_t>(layer.keys.nbytes() + layer.values.nbytes());
  return bytes;
}

}  // namespace multicard
