#include "nn/language/HeadNorms.hpp"

#include <ATen/ops/cat.h>

#include "nn/language/RmsNorm.hpp"

namespace multicard {

// Every head of every token is a row of the norm. The norm comes before the rotation; values have none.
at::Tensor norm_heads(const at::Tensor& qkv, const HeadShape& shape, const HeadNorms& norms, double epsilon) {
  const auto normed = [&](std::int64_t first, std::int64_t size, const at::Tensor& weight) {
    const at::Tensor heads = qkv.narrow(1, first, size).reshape({-1, shape.head_dim});
    return add_rms_norm(heads, {}, weight, epsilon).normed.view({-1, size});
  };
  const std::int64_t query_size = shape.query_size(), kv_size = shape.kv_size();
  return at::cat({normed(0, query_size, norms.queries), normed(query_size, kv_size, norms.keys),
                  qkv.narrow(1, query_size + kv_size, kv_size)},
                 1);
}

}  // namespace multicard
