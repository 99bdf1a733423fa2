#include "nn/language/EmbeddingNoise.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "nn/layers/Random.hpp"

namespace multicard {
namespace {

/// Of each token of a batch.
struct TokenNoise {
  at::Tensor keys;    ///< int64
  at::Tensor bounds;  ///< float64; 0 in padding
};

// Bound alpha / sqrt(L d) with L the length of the token's own sequence, as in the paper; transformers takes the padded
// length, which would make the noise depend on the other rows of the batch.
TokenNoise token_noise(const EmbeddingNoise& noise, std::span<const RowShape> shapes, std::int64_t width,
                       std::int64_t hidden, at::Device device) {
  const auto host = at::TensorOptions().pinned_memory(!device.is_cpu());
  const std::int64_t tokens = static_cast<std::int64_t>(shapes.size()) * width;
  TokenNoise all{at::zeros({tokens}, host.dtype(at::kLong)), at::zeros({tokens}, host.dtype(at::kDouble))};
  auto* keys = all.keys.mutable_data_ptr<std::int64_t>();
  auto* bounds = all.bounds.mutable_data_ptr<double>();
  for (std::size_t row = 0; row < shapes.size(); ++row) {
    std::int64_t place = 0;  // in the row
    const std::int64_t first = static_cast<std::int64_t>(row) * width;
    for (const std::int64_t length : shapes[row].lengths) {
      std::fill_n(bounds + first + place, length, noise.alpha / std::sqrt(static_cast<double>(length * hidden)));
      for (const std::int64_t end = place + length; place < end; ++place)
        keys[first + place] =
            static_cast<std::int64_t>(seed_of_stream(noise.seeds[row], static_cast<std::uint64_t>(place)));
    }
  }
  // From pinned memory, so that the host does not wait for the device in every step.
  return {all.keys.to(device, at::kLong, /*non_blocking=*/true),
          all.bounds.to(device, at::kDouble, /*non_blocking=*/true)};
}

}  // namespace

at::Tensor embedding_noise(const EmbeddingNoise& noise, std::span<const RowShape> shapes, std::int64_t width,
                           std::int64_t hidden, const at::TensorOptions& options) {
  if (noise.seeds.size() != shapes.size()) throw std::logic_error("noise needs a seed for each row of the batch");
  constexpr std::int64_t kValues = std::int64_t{1} << 21;  // at a time: int64 and double ones
  const at::NoGradGuard no_grad;
  const TokenNoise of_tokens = token_noise(noise, shapes, width, hidden, options.device());
  const std::int64_t tokens = of_tokens.keys.size(0), most = std::max<std::int64_t>(1, kValues / hidden);
  at::Tensor values = at::empty({tokens, hidden}, options);
  // In pieces: the int64 and float64 values in between take many times the memory of the noise itself.
  for (std::int64_t first = 0; first < tokens; first += most) {
    const std::int64_t count = std::min(most, tokens - first);
    const at::Tensor uniform = uniform_rows(of_tokens.keys.narrow(0, first, count), hidden);
    values.narrow(0, first, count).copy_(uniform * of_tokens.bounds.narrow(0, first, count).unsqueeze(1));
  }
  return values;
}

}  // namespace multicard
