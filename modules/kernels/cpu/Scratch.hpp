#pragma once
/// \file Memory for intermediate values, aligned to cache lines.

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace multicard {

template <typename T>
class Scratch {
 public:
  /// Uninitialised.
  explicit Scratch(std::int64_t size)
      : size_(static_cast<std::size_t>(size)),
        data_(static_cast<T*>(::operator new (size_ * sizeof(T) + 1, std::align_val_t{64}))) {}
  static Scratch zeros(std::int64_t size) {
    Scratch result(size);
    std::memset(result.data(), 0, result.size_ * sizeof(T));
    return result;
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(T* data) const { ::operator delete (data, std::align_val_t{64}); }
  };
  std::size_t size_;
  std::unique_ptr<T, Free> data_;
};

/// out = the sum of `num_parts` arrays of `size` values that lie one after the other.
template <typename T>
void sum_parts(const T* parts, std::int64_t num_parts, std::int64_t size, T* out) {
  std::memcpy(out, parts, static_cast<std::size_t>(size) * sizeof(T));
  for (std::int64_t part = 1; part < num_parts; ++part)
    for (std::int64_t i = 0; i < size; ++i)
      out[i] += parts[part * size + i];
}

}  // namespace multicard
