#pragma once
/// \file The layout of gradients in buckets; for modules/dist only.

#include <cstdint>
#include <map>
#include <vector>

#include <ATen/core/Tensor.h>

namespace multicard {

/// Gradients in reverse parameter order, one buffer for each element type, cut into buckets of whole gradients.
struct BucketPlan {
  /// Elements that optimizers treat alike wherever a parameter is cut: vectors of kernels, and blocks of 8-bit moments.
  static constexpr std::int64_t kPartAlignment = 256;

  struct Bucket {
    at::ScalarType type;
    std::int64_t offset = 0;  ///< elements from the start of its type's buffer
    std::int64_t numel = 0;
    int num_members = 0;
  };
  struct Place {
    std::size_t bucket = 0;
    std::int64_t offset = 0;  ///< elements from the start of its type's buffer
  };

  std::vector<Bucket> buckets;                      ///< in the order in which backward fills them
  std::vector<Place> places;                        ///< of each parameter
  std::map<at::ScalarType, std::int64_t> capacity;  ///< elements of each buffer

  /// Most bytes of a bucket; a larger gradient is one by itself.
  struct Limits {
    std::int64_t first, other;
  };
  /// \param num_parts equal parts that each bucket has, which begin at multiples of kPartAlignment elements, as
  /// gradients do then
  static BucketPlan make(const std::vector<at::Tensor>& parameters, const Limits& limits, int num_parts = 1);
};

}  // namespace multicard
