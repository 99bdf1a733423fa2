#include "SelfTest.hpp"

#include <algorithm>

#include <ATen/ops/empty.h>

#include "TestFolder.hpp"
#include "base/Clock.hpp"
#include "base/Quantiles.hpp"
#include "comm/Agreement.hpp"
#include "data/shards/ImageShards.hpp"
#include "dist/TensorCollectives.hpp"
#include "nn/vision/NetworkFactory.hpp"
#include "prepare/sets/Prepare.hpp"

namespace multicard {

namespace {

constexpr int kWarmUps = 3, kRounds = 15;
constexpr std::int64_t kSyntheticRows = 8192, kSyntheticSize = 96;

std::int64_t gradient_values(const RunOptions& options) {
  NetworkOptions network;
  network.width = options.model.width;
  network.classes = options.model.classes.value_or(1000);
  return make_network(options.model.name, network)->num_parameters();
}

}  // namespace

AllReduceMeasure measure_all_reduce(const RunOptions& options, const Communicator& world, const DeviceChoice& device) {
  const std::int64_t count = agreed(world, [&] { return gradient_values(options); });
  const auto collectives = make_collectives(Backend::automatic, world, device.device);
  const at::Tensor values = collectives->allocate_flat(count, at::kFloat);
  AllReduceMeasure measure;
  measure.backend = collectives->name();
  measure.payload_bytes = count * 4;
  measure.correct = true;
  std::vector<double> seconds;
  // 1 + 2 + ... + R: whole numbers, exact in float32 in any order of adding.
  const double expected = 0.5 * world.size() * (world.size() + 1);
  for (int round = 0; round < kWarmUps + kRounds; ++round) {
    values.fill_(world.rank() + 1);
    values.sum().item<float>();  // waits for the device
    world.barrier();
    const TimePoint start = SteadyClock::now();
    collectives->all_reduce(values);
    const bool right = values[count - 1].item<float>() == expected && values[0].item<float>() == expected;
    // Reading the values has waited for the device, so it belongs to the time. The slowest rank counts, as in a step.
    const double slowest = world.allreduce(seconds_since(start), ReduceOp::max);
    measure.correct = measure.correct && world.allreduce(right ? 1 : 0, ReduceOp::min) == 1;
    if (round >= kWarmUps) seconds.push_back(slowest);
  }
  measure.median_s = median(seconds);
  measure.bus_gb_per_s =
      2.0 * (world.size() - 1) / world.size() * static_cast<double>(measure.payload_bytes) / measure.median_s / 1e9;
  return measure;
}

namespace {

/// Shards in the working folder for as long as the object lives.
class TemporaryShards {
 public:
  // Relative: a pattern that names them must not hold what else the path of the working folder may hold.
  explicit TemporaryShards(const Communicator& world) : folder_("", world), prefix_(folder_.path() + "/shard") {
    PrepareOptions options;
    options.format = ImageFormat::synthetic;
    options.size = kSyntheticSize;
    options.limit = kSyntheticRows;
    options.num_shards = 4;
    options.output = prefix_;
    options.quiet = true;
    prepare_images(options, world);
  }
  std::string pattern() const { return prefix_ + "-*.h5"; }

 private:
  TestFolder folder_;
  std::string prefix_;
};

ShardReadMeasure read_once(const std::string& pattern, const Communicator& world) {
  const ImageShards shards(pattern, world);
  const ImageSetInfo& info = shards.info();
  const std::int64_t row_bytes = info.height * info.width * info.channels;
  const std::int64_t first = info.num_rows * world.rank() / world.size();
  const std::int64_t last = info.num_rows * (world.rank() + 1) / world.size();
  // Rows in order and in large pieces: what storage gives at best. Shards that were written just now come from the page
  // cache and show the memory's speed instead.
  const std::int64_t block = std::max<std::int64_t>(1, (std::int64_t{16} << 20) / row_bytes);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(block * row_bytes));
  std::vector<std::int64_t> rows;
  world.barrier();
  const TimePoint start = SteadyClock::now();
  agreed(world, [&] {
    for (std::int64_t from = first; from < last; from += block) {
      rows.clear();
      for (std::int64_t row = from; row < std::min(last, from + block); ++row)
        rows.push_back(row);
      shards.read_rows(rows, std::span(bytes).first(rows.size() * static_cast<std::size_t>(row_bytes)));
    }
  });
  ShardReadMeasure measure;
  measure.seconds = world.allreduce(seconds_since(start), ReduceOp::max);
  measure.source = pattern;
  measure.num_rows = info.num_rows;
  measure.num_bytes = info.num_rows * row_bytes;
  measure.gb_per_s = static_cast<double>(measure.num_bytes) / measure.seconds / 1e9;
  return measure;
}

}  // namespace

ShardReadMeasure measure_shard_read(const std::optional<std::string>& shards, const Communicator& world) {
  if (shards) return read_once(*shards, world);
  const TemporaryShards temporary(world);
  ShardReadMeasure measure = read_once(temporary.pattern(), world);
  measure.source = "synthetic shards in the working folder";
  // No rank reads any more when rank 0 removes the shards.
  world.barrier();
  return measure;
}

}  // namespace multicard
