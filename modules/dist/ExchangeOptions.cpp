#include "dist/ExchangeOptions.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kMaxRank = 64, kMaxStep = 1'000'000'000;

enum class GradientDtype { same, bf16, fp16, measured };
constexpr Word<GradientDtype> kGradientDtypeWords[] = {{"same", GradientDtype::same},
                                                       {"bf16", GradientDtype::bf16},
                                                       {"fp16", GradientDtype::fp16},
                                                       {kMeasured, GradientDtype::measured}};

CommDtype starting_dtype(GradientDtype dtype) {
  switch (dtype) {
    case GradientDtype::bf16:
      return CommDtype::bf16;
    case GradientDtype::fp16:
      return CommDtype::fp16;
    case GradientDtype::same:
    case GradientDtype::measured:
      break;
  }
  return CommDtype::same;
}

}  // namespace

ExchangeOptions read_exchange_options(Section& parallel) {
  ExchangeOptions options;
  options.backend = parallel.choice("backend", options.backend, kBackendWords);
  options.bucket_mb = parallel.automatic("bucket_mb", 0.001, 100'000.0, kMeasured, options.measures_bucket);
  options.overlap = parallel.get("overlap", options.overlap);
  const GradientDtype dtype = parallel.choice("gradient_dtype", GradientDtype::same, kGradientDtypeWords);
  options.gradient_dtype = starting_dtype(dtype);
  options.measures_dtype = dtype == GradientDtype::measured;
  options.powersgd_rank = parallel.get_in_range("powersgd_rank", options.powersgd_rank, std::int64_t{0}, kMaxRank);
  options.powersgd_start_step =
      parallel.get_in_range("powersgd_start_step", options.powersgd_start_step, std::int64_t{0}, kMaxStep);
  if (!parallel.get("hierarchy", true)) options.hierarchy = Hierarchy::flat;
  return options;
}

DeckKeys exchange_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"parallel.backend", any, speed, "backend",
       "who sums gradients; `auto` takes nccl on GPUs, mpi on CPUs; `none`, to measure what the exchange costs, leaves "
       "it out: what is learnt then means nothing"},
      {"parallel.bucket_mb", any, speed, "bucket size",
       "most bytes of a gradient bucket in MB (10⁶ bytes); `auto` follows a fixed rule, `measured` tries sizes in the "
       "first steps"},
      {"parallel.overlap", any, speed, "overlap", "all-reduce a bucket as soon as backward has filled it"},
      {"parallel.gradient_dtype", any, speed, "gradient type",
       "communication dtype of gradients: `same` as the parameters; `bf16` and `fp16` halve the bytes, `measured` "
       "takes `bf16` where it saves 5 % of a step"},
      {"parallel.powersgd_rank", any, learning, "PowerSGD rank",
       "send gradients as low-rank factors with error feedback (PowerSGD): their rank; 0 sends all"},
      {"parallel.powersgd_start_step", any, learning, "PowerSGD start step",
       "the first step whose gradients PowerSGD compresses"},
      {"parallel.hierarchy", any, speed, "hierarchy",
       "over MPI: the ranks of a node add up first, and nodes exchange their sums; `false`: all ranks exchange with "
       "all"},
  };
}

}  // namespace multicard
