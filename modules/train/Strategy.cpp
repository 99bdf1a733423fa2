#include "train/Strategy.hpp"

#include "train/DataParallelStrategy.hpp"
#include "train/ReplicatedStrategy.hpp"

namespace multicard {

namespace {

GradientReducer::Options reducer_options(const ParallelOptions& parallel) {
  GradientReducer::Options options;
  options.bucket_mb = parallel.bucket_mb;
  options.overlap = parallel.overlap ? Overlap::yes : Overlap::no;
  options.wire = wire_from(parallel.gradient_dtype);
  return options;
}

}  // namespace

std::unique_ptr<Strategy> make_strategy(const ParallelOptions& options, Task& task, TensorCollectives& collectives) {
  if (options.strategy == "dp")
    return std::make_unique<DataParallelStrategy>(task, collectives, reducer_options(options));
  const Reading reading = options.strategy == "ddp" ? Reading::whole : Reading::part;
  return std::make_unique<ReplicatedStrategy>(task, collectives, reducer_options(options), reading);
}

}  // namespace multicard
