// Seconds until all ranks hold the weights of a model folder, as a markdown table: every rank reads the files (they
// share the pages of a node), or rank 0 reads and broadcasts. `cold`: the files were thrown out of the page cache
// before. Medians over the repeats, which take the two ways in turn; in brackets the least and the most.
//   mpirun -n R model_loading_bench model=FOLDER [dtypes=bf16,fp32] [repeats=9]
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>

#include <ATen/core/grad_mode.h>

#include "base/Clock.hpp"
#include "base/Error.hpp"
#include "base/Quantiles.hpp"
#include "comm/Mpi.hpp"
#include "comm/Topology.hpp"
#include "device/Device.hpp"
#include "dist/TensorCollectives.hpp"
#include "io/PageCache.hpp"
#include "nn/language/LanguageFactory.hpp"
#include "nn/language/LanguageNetwork.hpp"
#include "options.hpp"
#include "tasks/language/LanguageModel.hpp"

namespace {

using namespace multicard;

const at::Device kHost(at::kCPU);

struct Way {
  const char* name;
  std::function<void()> load;
  std::vector<double> cold, warm;
};

class Bench {
 public:
  Bench(std::string folder, const Communicator& world)
      : folder_(std::move(folder)), world_(world), collectives_(make_collectives(Backend::mpi, world, at::kCPU)) {
    for (const std::string& name : ModelFolder::open(folder_).file_names())
      files_.push_back((std::filesystem::path(folder_) / name).string());
  }

  void measure(const std::string& word, int repeats) {
    const at::ScalarType dtype = weights_type(value_of<WeightDtype>(word, kWeightDtypeWords).value());
    std::vector<Way> ways{{"every rank reads", [&, dtype] { load_network(folder_, dtype, kHost); }, {}, {}},
                          {"rank 0 reads and broadcasts", [&, dtype] { read_and_broadcast(dtype); }, {}, {}}};
    for (int repeat = 0; repeat < repeats; ++repeat)
      for (Way& way : ways) {
        if (world_.is_root())
          for (const std::string& file : files_)
            drop_from_page_cache(file);
        for (const std::string& file : files_)
          left_ = std::max(left_, cached_share(file));
        way.cold.push_back(seconds_of(way.load));
        way.warm.push_back(seconds_of(way.load));
      }
    if (!world_.is_root()) return;
    for (const Way& way : ways)
      std::printf("| %d | %s | %s | %s | %s |\n", world_.size(), word.c_str(), way.name, text(way.cold).c_str(),
                  text(way.warm).c_str());
  }

  /// The largest part of a file that stayed in the page cache where it was to be thrown out.
  double left() const { return left_; }

 private:
  void read_and_broadcast(at::ScalarType dtype) {
    std::unique_ptr<Llama> network;
    if (world_.is_root())
      network = load_network(folder_, dtype, kHost);
    else
      network = std::make_unique<Llama>(LlamaConfig::read(folder_), dtype, kHost);
    broadcast_tensors(tensors_of(network->weights()), *collectives_, 0);
  }

  /// Of the slowest rank.
  double seconds_of(const std::function<void()>& body) {
    const at::NoGradGuard no_grad;
    world_.barrier();
    const TimePoint start = SteadyClock::now();
    body();
    return world_.allreduce(seconds_since(start), ReduceOp::max);
  }

  static std::string text(const std::vector<double>& seconds) {
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    char words[64];
    std::snprintf(words, sizeof words, "%.3f (%.3f–%.3f)", median(seconds), *least, *most);
    return words;
  }

  std::string folder_;
  Communicator world_;
  std::unique_ptr<TensorCollectives> collectives_;
  std::vector<std::string> files_;
  double left_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Mpi mpi(argc, argv);
  auto options = bench::read_options({{"model", ""}, {"dtypes", "bf16,fp32"}, {"repeats", "9"}}, argc, argv);
  const Communicator& world = mpi.world();
  try {
    set_compute_threads(find_topology(world));
    Bench all(options["model"], world);
    if (world.is_root()) std::printf("| ranks | type | way | cold, s | warm, s |\n|--:|--|--|--:|--:|\n");
    for (const std::string& dtype : bench::list_of(options["dtypes"]))
      all.measure(dtype, std::stoi(options["repeats"]));
    if (world.is_root()) std::printf("\nleft in the page cache before cold loads: at most %.0f %%\n", 100 * all.left());
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    abort_job(error.code());
  }
  return 0;
}
