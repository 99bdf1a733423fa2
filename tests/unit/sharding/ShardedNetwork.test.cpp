// Networks of which each rank reads and holds a part, against those that are read whole.
#include "sharding/ShardedNetwork.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::world;

struct Source {
  const char* name;
  const char* folder;
  at::ScalarType dtype;
  bool is_nf4 = false;
  DoubleQuantisation nested = DoubleQuantisation::on;
  std::optional<std::uint64_t> random_seed = {};
  Ends ends = Ends::whole;
};

constexpr const char* kTied = "tinystories-656K";
constexpr const char* kUntied = "qwen3-tiny";
constexpr const char* kStoredNf4 = "tinystories-656K-nf4";

const Source kSources[] = {
    {"Tied", kTied, at::kFloat},
    {"OtherType", kUntied, at::kBFloat16},
    {"StoredInNf4", kStoredNf4, at::kFloat},
    {"MadeNf4", kTied, at::kBFloat16, true},
    {"MadeNf4WithWholeScales", kUntied, at::kBFloat16, true, DoubleQuantisation::off},
    {"Random", kUntied, at::kDouble, false, DoubleQuantisation::on, 7},
    {"RandomNf4", kTied, at::kFloat, true, DoubleQuantisation::on, 7},
    {.name = "TiedEnds", .folder = kTied, .dtype = at::kFloat, .ends = Ends::split},
    {.name = "EndsOfOtherType", .folder = kUntied, .dtype = at::kBFloat16, .ends = Ends::split},
    {.name = "RandomEnds", .folder = kUntied, .dtype = at::kDouble, .random_seed = 7, .ends = Ends::split},
};

std::string folder_of(const Source& source) {
  return test::source_path(std::string("tests/data/models/") + source.folder).string();
}

WeightFormat format_of(const Source& source) {
  WeightFormat format;
  if (source.is_nf4) format.kind = WeightFormat::Kind::nf4;
  format.nested = source.nested;
  return format;
}

ShardedNetwork load_sharded(const Source& source, TensorCollectives& collectives) {
  NetworkPlan plan = plan_network(folder_of(source), source.dtype, source.random_seed, format_of(source));
  plan.ends = source.ends;
  return load_sharded_network(plan, {&collectives}, ShardedBlocks::Leftovers::poisoned);
}

at::Tensor logits(Llama& network) {
  return network.logits(at::arange(1, 33, at::kLong).view({1, 32}));
}

class ShardedNetworkOf : public testing::TestWithParam<Source> {};

TEST_P(ShardedNetworkOf, HasTheWeightsOfOneThatIsReadWhole) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  const Source& source = GetParam();
  const auto whole = load_network(folder_of(source), source.dtype, at::kCPU, source.random_seed, format_of(source));

  const ShardedNetwork sharded = load_sharded(source, *collectives);

  EXPECT_TRUE(at::equal(logits(*sharded.network), logits(*whole)));
}

std::string name_of(const testing::TestParamInfo<Source>& source) {
  return source.param.name;
}

INSTANTIATE_TEST_SUITE_P(Of, ShardedNetworkOf, testing::ValuesIn(kSources), name_of);

TEST(ShardedNetwork, WhoseBlocksAreRoundedHasTheProductsOfOneThatIsReadWhole) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  NetworkPlan plan = plan_network(folder_of(kSources[0]), at::kDouble, std::nullopt, {});
  plan.copies = at::kFloat;
  const auto whole = load_network(folder_of(kSources[0]), at::kDouble, at::kCPU);
  const ShardedNetwork sharded = load_sharded_network(plan, {collectives.get()}, ShardedBlocks::Leftovers::poisoned);

  for (Llama* network : {whole.get(), sharded.network.get()})
    network->set_compute_dtype(at::kFloat);

  EXPECT_TRUE(at::equal(logits(*sharded.network), logits(*whole)));
}

/// Bytes of all tensors whose names do or do not begin as those of blocks.
std::uint64_t bytes_of_blocks(const ModelFolder& files, bool in_blocks) {
  std::uint64_t bytes = 0;
  for (const TensorHeader& header : files.tensors())
    if (header.name.starts_with("model.layers.") == in_blocks) bytes += files.view(header.name).nbytes();
  return bytes;
}

TEST(ShardedNetwork, ReadsAPartOfTheFilesAndTheEnds) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  for (const Source& source : {kSources[0], kSources[1]}) {
    const ModelFolder files = ModelFolder::open(folder_of(source));
    const std::uint64_t blocks = bytes_of_blocks(files, true), ends = bytes_of_blocks(files, false);

    const std::uint64_t read = load_sharded(source, *collectives).bytes_read;

    const auto num_ranks = static_cast<std::uint64_t>(world().size());
    EXPECT_GE(world().allreduce(static_cast<std::int64_t>(read), ReduceOp::sum), blocks + num_ranks * ends);
    EXPECT_LE(read, blocks / num_ranks + ends + files.num_bytes() / 100) << source.name;
  }
}

TEST(ShardedNetwork, ReadsAPartOfEndsThatAreSplit) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  for (const Source& source : {kSources[7], kSources[8]}) {
    const ModelFolder files = ModelFolder::open(folder_of(source));

    const std::uint64_t read = load_sharded(source, *collectives).bytes_read;

    const std::uint64_t all = files.num_bytes(), num_ranks = static_cast<std::uint64_t>(world().size());
    EXPECT_GE(world().allreduce(static_cast<std::int64_t>(read), ReduceOp::sum), all * 99 / 100) << source.name;
    EXPECT_LE(read, all / num_ranks + all / 100) << source.name;
  }
}

TEST(ShardedNetwork, WeightsThatArePackedAreReadByOneRankEach) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  for (const Source& source : {kSources[2], kSources[3]}) {
    const ModelFolder files = ModelFolder::open(folder_of(source));
    std::uint64_t largest = 0;
    for (const TensorHeader& header : files.tensors())
      if (header.name.starts_with("model.layers.")) largest = std::max(largest, files.view(header.name).nbytes());
    const std::uint64_t blocks = bytes_of_blocks(files, true), ends = bytes_of_blocks(files, false);

    const std::uint64_t read = load_sharded(source, *collectives).bytes_read;

    EXPECT_LE(read, blocks / static_cast<std::uint64_t>(world().size()) + largest + ends + files.num_bytes() / 100)
        << source.name;
  }
}

TEST(ShardedNetwork, ARankThatFailsThrowsAndTheOthersComeBack) {
  const auto collectives = make_collectives(Backend::automatic, world(), at::kCPU);
  NetworkPlan plan = plan_network(folder_of(kSources[2]), at::kFloat, std::nullopt, {});
  const int failing = world().size() - 1;
  // This rank believes in scales that are not quantised, and refuses what is stored.
  if (world().rank() == failing) plan.format.nested = DoubleQuantisation::off;

  const auto load = [&] { load_sharded_network(plan, {collectives.get()}); };

  if (world().rank() == failing) {
    EXPECT_THROW(load(), DataError);
  } else {
    EXPECT_NO_THROW(load());
  }
}

}  // namespace
}  // namespace multicard
