// Noise on embeddings: its size, what it is a function of, and where it goes.
#include "nn/language/EmbeddingNoise.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "language_models.hpp"

namespace multicard {
namespace {

constexpr std::int64_t kHidden = 48;
const at::TensorOptions kDoubles = at::TensorOptions().dtype(at::kDouble);

at::Tensor noise_of(const std::vector<std::uint64_t>& seeds, const std::vector<RowShape>& shapes, std::int64_t width,
                    double alpha = 5) {
  return embedding_noise({alpha, seeds}, shapes, width, kHidden, kDoubles)
      .view({static_cast<std::int64_t>(shapes.size()), width, kHidden});
}

TEST(EmbeddingNoise, FillsTheRangeOfEachSequenceAndLeavesPaddingAlone) {
  const at::Tensor noise = noise_of({1, 2}, {{{200, 50}, 0}, {{120}, 0}}, 260);

  const auto check = [&](std::int64_t row, std::int64_t first, std::int64_t length) {
    const at::Tensor part = noise[row].narrow(0, first, length);
    const double bound = 5 / std::sqrt(static_cast<double>(length * kHidden));
    EXPECT_LE(test::largest(part), bound);
    EXPECT_GT(test::largest(part), 0.99 * bound);
    EXPECT_NEAR(part.mean().item<double>(), 0, 0.05 * bound);
    EXPECT_NEAR(part.std().item<double>(), bound / std::sqrt(3.0), 0.03 * bound);
  };
  check(0, 0, 200);
  check(0, 200, 50);
  check(1, 0, 120);
  EXPECT_EQ(test::largest(noise[0].narrow(0, 250, 10)), 0);
  EXPECT_EQ(test::largest(noise[1].narrow(0, 120, 140)), 0);
}

TEST(EmbeddingNoise, IsAFunctionOfTheRowsSeedAndThePlaceInTheRow) {
  const RowShape one{{7, 5}, 0}, other{{9}, 0};
  const at::Tensor together = noise_of({3, 4}, {one, other}, 14);

  EXPECT_TRUE(at::equal(together[1].narrow(0, 0, 9), noise_of({4}, {other}, 9)[0]));
  EXPECT_TRUE(at::equal(together[0].narrow(0, 0, 12), noise_of({3}, {one}, 12)[0]));
  EXPECT_FALSE(at::equal(noise_of({3}, {other}, 9), noise_of({4}, {other}, 9)));
  EXPECT_TRUE(at::allclose(noise_of({3}, {other}, 9, 10), 2 * noise_of({3}, {other}, 9)));
  EXPECT_THROW(noise_of({3}, {one, other}, 14), std::logic_error);
}

TEST(EmbeddingNoise, DoesNotDependOnHowManyValuesAreMadeAtOnce) {
  const std::int64_t width = 50000;  // more than one piece of 2^21 values
  const at::Tensor long_row = noise_of({9}, {{{width}, 0}}, width), short_row = noise_of({9}, {{{10}, 0}}, 10);

  const double scale = std::sqrt(static_cast<double>(width) / 10);
  EXPECT_TRUE(at::allclose(long_row.narrow(1, 0, 10) * scale, short_row));
  EXPECT_GT(test::largest(long_row.narrow(1, width - 10, 10)), 0);
}

// A batch of tokens that occur once each, so that noise on a token is noise on its embedding.
struct OnceEach {
  at::Tensor tokens = at::arange(30, at::kLong).view({2, 15});
  at::Tensor targets = at::full({2, 15}, 31, at::kLong);
  std::vector<RowShape> shapes{{{9, 6}, 15}, {{15}, 15}};
  std::vector<std::uint64_t> seeds{5, 6};

  TextInput input(double alpha) const { return {tokens, targets, shapes, {alpha, seeds}}; }
};

TEST(EmbeddingNoise, IsAddedToTheEmbeddings) {
  const auto network = test::small_network(), moved = test::small_network();
  const OnceEach batch;
  const std::int64_t hidden = network->config().hidden_size;
  {
    const at::NoGradGuard no_grad;
    moved->weights().front().tensor.narrow(0, 0, 30).add_(
        embedding_noise({40, batch.seeds}, batch.shapes, 15, hidden, kDoubles));
  }

  const double noisy = network->loss_sum(batch.input(40)).item<double>();

  EXPECT_NEAR(noisy, moved->loss_sum(batch.input(0)).item<double>(), 1e-9);
  EXPECT_GT(std::abs(noisy - network->loss_sum(batch.input(0)).item<double>()), 1e-3);
}

TEST(EmbeddingNoise, ComesWithTheSameGradientsWhenLayersAreComputedAgain) {
  const auto network = test::small_network();
  const OnceEach batch;
  const std::vector<at::Tensor> kept = test::gradients(*network, batch.input(40));
  network->set_checkpointing(Checkpointing::per_layer);

  const std::vector<at::Tensor> computed = test::gradients(*network, batch.input(40));

  for (std::size_t i = 0; i < kept.size(); ++i)
    EXPECT_TRUE(at::equal(computed[i], kept[i])) << network->parameters()[i].name;
}

}  // namespace
}  // namespace multicard
