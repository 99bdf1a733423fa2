#include "dist/ExchangeOptions.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kMaxRank = 64, kMaxStep = 1'000'000'000;

}  // namespace

ExchangeOptions read_exchange_options(Section& parallel) {
  ExchangeOptions options;
  options.backend = parallel.choice("backend", options.backend, kBackendWords);
  options.bucket_mb = parallel.automatic("bucket_mb", 0.001, 100'000.0);
  options.overlap = parallel.get("overlap", options.overlap);
  options.gradient_dtype = parallel.choice("gradient_dtype", options.gradient_dtype, kCommDtypeWords);
  options.powersgd_rank = parallel.get_in_range("powersgd_rank", options.powersgd_rank, std::int64_t{0}, kMaxRank);
  options.powersgd_start_step =
      parallel.get_in_range("powersgd_start_step", options.powersgd_start_step, std::int64_t{0}, kMaxStep);
  return options;
}

DeckKeys exchange_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"parallel.backend", any, speed, "backend", "who sums gradients; `auto` takes nccl on GPUs, mpi on CPUs"},
      {"parallel.bucket_mb", any, speed, "bucket size",
       "most bytes of a gradient bucket in MB (10⁶ bytes); `auto` follows a fixed rule"},
      {"parallel.overlap", any, speed, "overlap", "all-reduce a bucket as soon as backward has filled it"},
      {"parallel.gradient_dtype", any, speed, "gradient type",
       "communication dtype of gradients: `same` as the parameters; `bf16` and `fp16` halve the bytes"},
      {"parallel.powersgd_rank", any, learning, "PowerSGD rank",
       "send gradients as low-rank factors with error feedback (PowerSGD): their rank; 0 sends all"},
      {"parallel.powersgd_start_step", any, learning, "PowerSGD start step",
       "the first step whose gradients PowerSGD compresses"},
  };
}

}  // namespace multicard
