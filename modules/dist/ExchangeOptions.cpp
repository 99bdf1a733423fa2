#include "dist/ExchangeOptions.hpp"

namespace multicard {

ExchangeOptions read_exchange_options(Section& parallel) {
  ExchangeOptions options;
  options.backend = parallel.choice("backend", options.backend, kBackendWords);
  options.bucket_mb = parallel.automatic("bucket_mb", 0.001, 100'000.0);
  options.overlap = parallel.get("overlap", options.overlap);
  options.gradient_dtype = parallel.choice("gradient_dtype", options.gradient_dtype, kCommDtypeWords);
  if (!parallel.get("hierarchy", true)) options.hierarchy = Hierarchy::flat;
  return options;
}

DeckKeys exchange_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"parallel.backend", any, speed, "backend",
       "who sums gradients; `auto` takes nccl on GPUs, mpi on CPUs; `none`, to measure what the exchange costs, leaves "
       "it "
       "out: what is learnt then means nothing"},
      {"parallel.bucket_mb", any, speed, "bucket size",
       "most bytes of a gradient bucket in MB (10⁶ bytes); `auto` follows a fixed rule"},
      {"parallel.overlap", any, speed, "overlap", "all-reduce a bucket as soon as backward has filled it"},
      {"parallel.gradient_dtype", any, speed, "gradient type",
       "communication dtype of gradients: `same` as the parameters; `bf16` and `fp16` halve the bytes"},
      {"parallel.hierarchy", any, speed, "hierarchy",
       "over MPI: the ranks of a node add up first, and nodes exchange their sums; `false`: all ranks exchange with "
       "all"},
  };
}

}  // namespace multicard
