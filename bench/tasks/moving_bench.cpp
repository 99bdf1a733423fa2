// Seconds to move a run between ranks in memory, as a markdown table: MobileNetV2 with AdamW and a moving average,
// with a state of 120 MB by default. Medians over the moves; maximum in parentheses. `build` includes the memory
// estimate, which trains on a few rows, and on ranks that join the weights. Then what a move saves by not scanning the
// data again, for `sequences` of 200 tokens in packs of 2048.
//   mpirun -n R moving_bench [width=1.9] [repeats=5] [sequences=100000]
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/Clock.hpp"
#include "base/Quantiles.hpp"
#include "comm/Mpi.hpp"
#include "data/loading/TextDataSource.hpp"
#include "options.hpp"
#include "prepare/sets/Prepare.hpp"
#include "prepare/sets/TextPrepare.hpp"
#include "run/MovableRun.hpp"

namespace {

using namespace multicard;
namespace fs = std::filesystem;

RunOptions options_of(const std::string& folder, double width) {
  RunOptions options;
  options.model.width = width;
  options.data.train = folder + "/train*.h5";
  options.data.image_size = 32;
  options.optimizer.name = OptimizerName::adamw;
  options.optimizer.learning_rate = 1e-3;
  options.run.output = folder + "/out";
  options.run.global_batch = 16;
  options.run.steps = 100000;
  options.run.keep_checkpoints = 0;
  options.run.ema_decay = 0.99;
  return options;
}

void write_shards(const std::string& folder, const Communicator& world) {
  PrepareOptions options;
  options.format = ImageFormat::synthetic;
  options.size = 32;
  options.classes = 10;
  options.limit = 256;
  options.output = folder + "/train";
  options.quiet = true;
  prepare_images(options, world);
}

/// The first `size` ranks.
struct Group {
  Group(const Communicator& world, int size)
      : member(world.rank() < size), ranks(world.split(member ? 0 : 1, world.rank())) {}

  bool member;
  Communicator ranks;
};

std::string text(std::vector<double> seconds) {
  const double most = *std::max_element(seconds.begin(), seconds.end());
  char line[64];
  std::snprintf(line, sizeof line, "%.3f (%.3f)", median(std::move(seconds)), most);
  return line;
}

/// Bytes of the tensors that move.
double megabytes(TaskRun& run) {
  std::int64_t bytes = 0;
  for (const CheckpointPart& part : run.collect().parts)
    for (const NamedTensor& entry : part.tensors)
      bytes += static_cast<std::int64_t>(entry.tensor.nbytes());
  return static_cast<double>(bytes) / 1e6;
}

void measure(MovableRun& movable, const Communicator& world, const Group& from, const Group& to, const char* name,
             int repeats) {
  std::vector<double> collect, broadcast, build, all;
  const auto on = [](const Group& group) { return group.member ? std::optional(group.ranks) : std::nullopt; };
  for (int repeat = 0; repeat < repeats; ++repeat) {
    movable.move_to(on(from));
    if (movable.run()) movable.run()->advance(1, nullptr);
    world.barrier();
    const TimePoint start = SteadyClock::now();
    movable.move_to(on(to));
    world.barrier();
    all.push_back(seconds_since(start));
    const MoveTimes& times = movable.times();
    collect.push_back(world.allreduce(times.collect, ReduceOp::max));
    broadcast.push_back(world.allreduce(times.broadcast, ReduceOp::max));
    build.push_back(world.allreduce(times.build, ReduceOp::max));
  }
  if (world.is_root())
    std::printf("| %s | %s | %s | %s | %s |\n", name, text(all).c_str(), text(collect).c_str(), text(broadcast).c_str(),
                text(build).c_str());
}

void write_tokens(const std::string& folder, std::int64_t num_sequences, const Communicator& world) {
  if (world.is_root()) {
    std::string line = R"({"input_ids": [1)", rest;
    for (int token = 1; token < 200; ++token)
      rest += ", " + std::to_string(token);
    line += rest + R"(], "labels": [1)" + rest + "]}\n";
    std::ofstream out(folder + "/tokens.jsonl");
    for (std::int64_t i = 0; i < num_sequences; ++i)
      out << line;
  }
  world.barrier();
  TextPrepareOptions options;
  options.type = DatasetType::tokens;
  options.inputs = {folder + "/tokens.jsonl"};
  options.output = folder + "/tokens";
  options.quiet = true;
  prepare_text(options, world);
}

void measure_scan(const Communicator& world, const std::string& folder, std::int64_t num_sequences, int repeats) {
  write_tokens(folder, num_sequences, world);
  TextSourceOptions options;
  options.shards = {folder + "/tokens-*.h5"};
  options.rows.packing = true;
  options.rows.max_length = 2048;
  options.order.global_batch = 16;
  std::vector<double> scan, again;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    std::optional<TextSetScan> found;
    for (std::vector<double>* seconds : {&scan, &again}) {
      world.barrier();
      const TimePoint start = SteadyClock::now();
      found = TextDataSource::open(options, world, at::kCPU, found)->scan();
      seconds->push_back(world.allreduce(seconds_since(start), ReduceOp::max));
    }
  }
  if (world.is_root())
    std::printf("\n| sequences | opened with a scan, s | opened again |\n|--:|--:|--:|\n| %lld | %s | %s |\n",
                static_cast<long long>(num_sequences), text(scan).c_str(), text(again).c_str());
}

void run(const Communicator& world, double width, int repeats, std::int64_t num_sequences) {
  const std::string folder = (fs::temp_directory_path() / "multicard-moving-bench").string();
  if (world.is_root()) fs::create_directories(folder);
  world.barrier();
  write_shards(folder, world);
  MovableRun movable(options_of(folder, width), "", world, {Verbosity::quiet, std::nullopt, false});
  const Group one(world, 1), all(world, world.size());
  movable.move_to(all.ranks);
  movable.run()->advance(1, nullptr);
  const double size = megabytes(*movable.run());
  if (world.is_root())
    std::printf("state: %.0f MB\n\n| ranks | s | collect | broadcast | build |\n|--|--:|--:|--:|--:|\n", size);
  const std::string number = std::to_string(world.size());
  measure(movable, world, all, one, (number + " to 1").c_str(), repeats);
  measure(movable, world, one, all, ("1 to " + number).c_str(), repeats);
  if (movable.run()) movable.run()->finish(nullptr);
  measure_scan(world, folder, num_sequences, repeats);
  world.barrier();
  if (world.is_root()) fs::remove_all(folder);
}

}  // namespace

int main(int argc, char** argv) {
  Mpi mpi(argc, argv);
  auto options = bench::read_options({{"width", "1.9"}, {"repeats", "5"}, {"sequences", "100000"}}, argc, argv);
  try {
    run(mpi.world(), std::stod(options["width"]), std::stoi(options["repeats"]), std::stoll(options["sequences"]));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    abort_job(error.code());
  }
  return 0;
}
