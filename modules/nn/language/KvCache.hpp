#pragma once
/// \file What a language model keeps of the tokens it has read, so that it reads each once.

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

namespace multicard {

/// Keys (rotated) and values of one sequence. Grows as it is filled.
class KvCache {
 public:
  /// Tokens held.
  std::int64_t num_tokens() const { return num_tokens_; }

  struct View {
    at::Tensor keys, values;  ///< [tokens, kv heads, head dim], the new ones last
  };
  /// Appends keys and values [new tokens, kv heads, head dim] of a layer and gives all of them.
  View append(std::int64_t layer, const at::Tensor& keys, const at::Tensor& values);
  /// Counts tokens that every layer has appended.
  void advance(std::int64_t num_new) { num_tokens_ += num_new; }
  /// Forgets all tokens and keeps the room for them.
  void clear() { num_tokens_ = 0; }

  /// How many tokens there is room for once `first` have been appended together and others one by one, up to `last`.
  static std::int64_t room_for(std::int64_t first, std::int64_t last);
  /// Of the room.
  std::int64_t bytes() const;

 private:
  std::vector<View> layers_;  ///< with room to grow
  std::int64_t num_tokens_ = 0;
};

}  // namespace multicard
