// GB/s of what a run reads and writes, as rows of a markdown table; bench/io.sh puts what the file system can do above
// them. Shard reads are those of an epoch of training in the order of training, without any other work: bytes by the
// seconds that the loaders' threads were reading (`input/stages` of results files), over all ranks. Results are
// written as at the end of a run, until the file has its name, and read as multicard-post reads them. `cold`: the
// files are not in the page cache; `warm`: they are. Each number is the median over the repeats. The last column
// divides by plain calls on the same file system, GB/s of which are given.
//   mpirun -n R io_bench shards='data/x*.h5' [folder=.] [batch=64] [steps=1000,200000] [repeats=3]
//       [write=GB/s] [cold=GB/s] [warm=GB/s]
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/Clock.hpp"
#include "base/Error.hpp"
#include "base/Quantiles.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"
#include "comm/Mpi.hpp"
#include "data/loading/ImageLoader.hpp"
#include "io/PageCache.hpp"
#include "options.hpp"
#include "results/ResultsReader.hpp"
#include "results/ResultsWriter.hpp"

namespace {

using namespace multicard;
using bench::Options;

class Bench {
 public:
  Bench(const Options& options, const Communicator& world)
      : options_(options), world_(world), repeats_(std::stoi(options.at("repeats"))) {}

  void shards(const std::string& method) {
    const ImageShards shards(options_.at("shards"), world_, {},
                             {method == "pread" ? ReadMethod::pread : ReadMethod::hdf5, KeepRows::no});
    std::vector<double> cold, warm;
    bool is_cold = true;
    for (int repeat = 0; repeat < repeats_; ++repeat) {
      is_cold = drop(shards.files()) && is_cold;
      cold.push_back(epoch(shards));
      warm.push_back(epoch(shards));
    }
    const std::string what = "shards in training, " + method;
    if (is_cold) row(what + ", cold", cold, "cold");
    row(what + ", warm", warm, "warm");
  }

  void results(std::int64_t num_steps) {
    const std::string path = options_.at("folder") + "/io_bench-results.h5";
    const RankRecord record = record_of(num_steps);
    RunSummary summary;
    summary.name = "main";
    summary.integers = {{"ranks", world_.size()}};
    std::vector<double> write, cold, warm;
    bool is_cold = true;
    double bytes = 0;
    for (int repeat = 0; repeat < repeats_; ++repeat) {
      const double seconds = timed([&] { write_results(path, world_, Provenance{}, summary, record); });
      bytes = static_cast<double>(std::filesystem::file_size(path));
      write.push_back(1e-9 * bytes / seconds);
      is_cold = drop({path}) && is_cold;
      const auto read = [&] {
        return 1e-9 * bytes / timed([&] {
                 if (world_.is_root()) ResultsFile::open(path).runs();
               });
      };
      cold.push_back(read());
      warm.push_back(read());
      world_.barrier();
      if (world_.is_root()) std::filesystem::remove(path);
      world_.barrier();
    }
    const std::string what = "results of " + grouped(num_steps) + " steps, " + human_bytes(bytes);
    row(what + ", written", write, "write");
    if (is_cold) row(what + ", read, cold", cold, "cold");
    row(what + ", read, warm", warm, "warm");
  }

 private:
  /// Of the slowest rank.
  double timed(const std::function<void()>& body) const {
    world_.barrier();
    const TimePoint start = SteadyClock::now();
    body();
    return world_.allreduce(seconds_since(start), ReduceOp::max);
  }

  /// Whether the files have left the page cache.
  bool drop(const std::vector<std::string>& files) const {
    double left = 0;
    world_.barrier();
    for (const std::string& file : files) {
      if (world_.is_root()) drop_from_page_cache(file);
      world_.barrier();
      left = std::max(left, cached_share(file));
    }
    return world_.allreduce(left, ReduceOp::max) < 0.01;
  }

  /// GB/s of all ranks' reading threads.
  double epoch(const ImageShards& shards) const {
    const ImageSetInfo& info = shards.info();
    LoadingTimes times;
    LoaderOptions loader;
    loader.preprocess = {info.height, info.width, info.channels,    static_cast<int>(info.height),
                         info.mean,   info.std,   ImageLayout::nhwc};
    loader.pipeline = InputPipeline::device;  // rows as they are stored
    loader.times = &times;
    const Sampler sampler({info.num_rows, std::stoll(options_.at("batch")) * world_.size(), 1, true, true});
    world_.barrier();
    ImageLoader batches(shards, sampler, loader, world_.rank(), world_.size(), 0, sampler.steps_per_epoch());
    while (batches.next()) {
    }
    const LoadingTimes::Total read = times.total(LoadingStage::read);
    return world_.allreduce(1e-9 * static_cast<double>(read.bytes) / read.seconds, ReduceOp::sum);
  }

  static RankRecord record_of(std::int64_t num_steps) {
    RankRecord record;
    StepTimes times;
    times.step = 1e-2;
    record.steps.assign(static_cast<std::size_t>(num_steps), times);
    record.samples.assign(static_cast<std::size_t>(num_steps), 64);
    return record;
  }

  void row(const std::string& what, std::vector<double> rates, const std::string& ceiling) const {
    if (!world_.is_root()) return;
    const double rate = median(std::move(rates)), plain = std::stod(options_.at(ceiling));
    std::printf("| %s | %s | %s |\n", what.c_str(), significant(rate, 3).c_str(),
                plain > 0 ? significant(rate / plain, 2).c_str() : "–");
  }

  const Options& options_;
  const Communicator& world_;
  int repeats_;
};

}  // namespace

int main(int argc, char** argv) {
  Mpi mpi(argc, argv);
  const Options options = bench::read_options({{"shards", ""},
                                               {"folder", "."},
                                               {"batch", "64"},
                                               {"steps", "1000,200000"},
                                               {"repeats", "3"},
                                               {"write", "0"},
                                               {"cold", "0"},
                                               {"warm", "0"}},
                                              argc, argv);
  try {
    keep_freed_memory();
    Bench bench(options, mpi.world());
    bench.shards("hdf5");
    bench.shards("pread");
    for (const std::string& steps : bench::list_of(options.at("steps")))
      bench.results(std::stoll(steps));
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    abort_job(error.code());
  }
  return 0;
}
