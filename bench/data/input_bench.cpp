// Images/s that a rank's loader delivers, in every combination of data.pipeline, workers, cache, read and augment, as a
// markdown table. `cold`: the shards are thrown out of the page cache, rows come in for the first time; `warm`: all
// rows have been read once. Of the device pipeline the first two columns are the loader alone, `to input` the loader
// with the copy to the device and DevicePreprocessor. Each number is the median over the repeats of images/s of all
// ranks.
//   mpirun -n R input_bench shards='data/x*.h5' [sizes=100,224,300,500] [pipelines=host,device] [workers=0,1,2]
//       [caches=none,ram] [reads=hdf5,pread] [augments=off,on] [device=cpu|cuda] [batch=64] [seconds=0.5] [repeats=3]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/ops/item.h>
#include <ATen/ops/sum.h>

#include "base/Clock.hpp"
#include "base/Error.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"
#include "comm/Mpi.hpp"
#include "data/loading/DevicePreprocessor.hpp"
#include "data/loading/ImageLoader.hpp"
#include "device/BatchUploader.hpp"
#include "io/PageCache.hpp"

namespace {

using namespace multicard;
using Options = std::map<std::string, std::string>;

Options options_of(int argc, char** argv) {
  Options options{{"shards", ""},
                  {"sizes", "100,224,300,500"},
                  {"pipelines", "host,device"},
                  {"workers", "0,1,2"},
                  {"caches", "none,ram"},
                  {"reads", "hdf5,pread"},
                  {"augments", "off,on"},
                  {"device", "cpu"},
                  {"batch", "64"},
                  {"seconds", "0.5"},
                  {"repeats", "3"}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto equals = word.find('=');
    if (equals == std::string::npos || !options.contains(word.substr(0, equals)))
      throw UsageError("unknown option " + word);
    options[word.substr(0, equals)] = word.substr(equals + 1);
  }
  if (options["shards"].empty()) throw UsageError("shards=PATTERN is missing");
  return options;
}

/// One line of the table.
struct Variant {
  int size, workers;
  std::string pipeline, cache, read, augment;
  std::vector<double> cold, warm, to_input;
};

std::vector<Variant> all_variants(const Options& options) {
  const auto words = [&](const char* key) { return split(options.at(key), ','); };
  std::vector<Variant> variants;
  for (const std::string& size : words("sizes"))
    for (const std::string& pipeline : words("pipelines"))
      for (const std::string& augment : words("augments"))
        for (const std::string& workers : words("workers"))
          for (const std::string& cache : words("caches"))
            for (const std::string& read : words("reads"))
              variants.push_back({std::stoi(size), std::stoi(workers), pipeline, cache, read, augment, {}, {}, {}});
  return variants;
}

class Bench {
 public:
  Bench(const Options& options, const Communicator& world)
      : pattern_(options.at("shards")),
        world_(world),
        device_(options.at("device")),
        batch_(std::stoll(options.at("batch"))),
        seconds_(std::stod(options.at("seconds"))) {}

  void measure(Variant& variant) {
    const ImageShards shards(pattern_, world_, {},
                             {variant.read == "pread" ? ReadMethod::pread : ReadMethod::hdf5,
                              variant.cache == "ram" ? KeepRows::in_memory : KeepRows::no});
    const LoaderOptions loader = loader_options(variant, shards);
    const Sampler sampler({shards.info().num_rows, batch_ * world_.size(), 1, true, true});
    if (world_.is_root())
      for (const std::string& file : shards.files())
        drop_from_page_cache(file);
    world_.barrier();
    for (const std::string& file : shards.files())
      left_in_cache_ = std::max(left_in_cache_, world_.is_root() ? cached_share(file) : 0);
    variant.cold.push_back(rate(shards, sampler, loader, sampler.steps_per_epoch(), [](const ImageBatch&) {}));
    read_everything(shards);
    variant.warm.push_back(rate(shards, sampler, loader, kManySteps, [](const ImageBatch&) {}));
    if (loader.pipeline == InputPipeline::device) variant.to_input.push_back(rate_to_input(shards, sampler, loader));
  }
  /// The largest part of a shard that stayed in the page cache when it should have gone.
  double left_in_cache() const { return left_in_cache_; }

 private:
  static constexpr std::int64_t kManySteps = std::int64_t{1} << 40;

  LoaderOptions loader_options(const Variant& variant, const ImageShards& shards) const {
    const ImageSetInfo& info = shards.info();
    LoaderOptions loader;
    loader.preprocess = {info.height, info.width, info.channels, variant.size, info.mean, info.std, ImageLayout::nhwc};
    loader.pipeline = variant.pipeline == "device" ? InputPipeline::device : InputPipeline::host;
    loader.num_workers = variant.workers;
    loader.memory = device_.is_cuda() ? HostMemory::pinned : HostMemory::pageable;
    if (variant.augment == "on") loader.augment = {0.5, RandomResizedCrop{}};
    return loader;
  }

  static void read_everything(const ImageShards& shards) {
    constexpr std::int64_t kRows = 64;
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(kRows * shards.bytes_per_row()));
    for (std::int64_t first = 0; first < shards.info().num_rows; first += kRows) {
      std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min(kRows, shards.info().num_rows - first)));
      std::iota(rows.begin(), rows.end(), first);
      shards.read_rows(rows, std::span(pixels).first(rows.size() * static_cast<std::size_t>(shards.bytes_per_row())));
    }
  }

  /// Images/s of all ranks until the time is over or the steps are done.
  double rate(const ImageShards& shards, const Sampler& sampler, const LoaderOptions& options, std::int64_t last_step,
              const std::function<void(const ImageBatch&)>& use) const {
    world_.barrier();
    const TimePoint start = SteadyClock::now();
    std::int64_t num_rows = 0;
    ImageLoader loader(shards, sampler, options, world_.rank(), world_.size(), 0, last_step);
    while (seconds_since(start) < seconds_) {
      const std::optional<ImageBatch> batch = loader.next();
      if (!batch) break;
      use(*batch);
      num_rows += batch->num_rows;
    }
    const double mine = static_cast<double>(num_rows) / seconds_since(start);
    return world_.allreduce(mine, ReduceOp::sum);
  }

  double rate_to_input(const ImageShards& shards, const Sampler& sampler, const LoaderOptions& options) const {
    const DevicePreprocessor preprocessor(options.preprocess, options.dtype, device_);
    const std::unique_ptr<BatchUploader> uploader = make_batch_uploader(device_);
    return rate(shards, sampler, options, kManySteps, [&](const ImageBatch& batch) {
      uploader->start({batch.images, batch.windows});
      const std::vector<at::Tensor> there = uploader->take();
      preprocessor.run(there[0], there[1]).sum().item();  // waits for the device
    });
  }

  std::string pattern_;
  Communicator world_;
  at::Device device_;
  std::int64_t batch_;
  double seconds_;
  double left_in_cache_ = 0;
};

std::string median(std::vector<double> values) {
  if (values.empty()) return "-";
  std::sort(values.begin(), values.end());
  return significant(values[values.size() / 2], 3);
}

void print(const std::vector<Variant>& variants) {
  std::puts("| size | pipeline | augment | workers | cache | read | cold | warm | to input |");
  std::puts("|---:|---|---|---:|---|---|---:|---:|---:|");
  for (const Variant& v : variants)
    std::printf("| %d | %s | %s | %d | %s | %s | %s | %s | %s |\n", v.size, v.pipeline.c_str(), v.augment.c_str(),
                v.workers, v.cache.c_str(), v.read.c_str(), median(v.cold).c_str(), median(v.warm).c_str(),
                median(v.to_input).c_str());
}

void run(const Options& options, const Communicator& world) {
  keep_freed_memory();
  at::set_num_threads(1);
  std::vector<Variant> variants = all_variants(options);
  Bench bench(options, world);
  // Every repeat goes through all variants, so that a change of the machine's speed meets all of them.
  const int repeats = std::stoi(options.at("repeats"));
  for (int repeat = 0; repeat < repeats; ++repeat)
    for (std::size_t i = 0; i < variants.size(); ++i) {
      bench.measure(variants[i]);
      if (world.is_root() && (i + 1) % 16 == 0)
        std::fprintf(stderr, "repeat %d of %d: %zu of %zu variants\n", repeat + 1, repeats, i + 1, variants.size());
    }
  if (!world.is_root()) return;
  print(variants);
  if (bench.left_in_cache() > 0.01)
    std::printf("\nUp to %.0f %% of a shard stayed in the page cache: `cold` is not cold here.\n",
                100 * bench.left_in_cache());
}

}  // namespace

int main(int argc, char** argv) {
  Mpi mpi(argc, argv);
  try {
    run(options_of(argc, argv), mpi.world());
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    abort_job(error.code());
  }
  return 0;
}
