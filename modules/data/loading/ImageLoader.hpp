#pragma once
/// \file Batches of images, prepared ahead by threads.

#include <cstdint>
#include <memory>
#include <optional>

#include <ATen/core/Tensor.h>

#include "data/loading/Augmentation.hpp"
#include "data/loading/BatchPool.hpp"
#include "data/loading/LoadingTimes.hpp"
#include "data/loading/Preprocessor.hpp"
#include "data/loading/Sampler.hpp"
#include "data/shards/ImageShards.hpp"

namespace multicard {

/// One rank's rows of one global batch, in host memory.
struct ImageBatch {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  /// Host pipeline: [num_rows, 3, size, size], strides of channels_last for ImageLayout::nhwc. Device pipeline: uint8
  /// [num_rows, H, W, C] as stored.
  at::Tensor images;
  at::Tensor labels;             ///< int64 [num_rows]
  at::Tensor windows;            ///< int32 [num_rows, 5], rows are ImageWindows: device pipeline with augmentation only
  std::int64_t num_rows = 0;     ///< of this rank; may be 0
  std::int64_t global_rows = 0;  ///< over all ranks
};

struct LoaderOptions {
  PreprocessOptions preprocess;       ///< height, width and channels as the shards have them
  at::ScalarType dtype = at::kFloat;  ///< kFloat or kDouble
  InputPipeline pipeline = InputPipeline::host;
  AugmentOptions augment;  ///< the sampler's seed drives it
  int num_workers = 1;     ///< threads that resize and normalise, besides one that reads; 0: all in next()
  int prefetch = 2;        ///< batches prepared ahead; at least 1 with threads
  HostMemory memory = HostMemory::pageable;  ///< pinned needs a GPU
  LoadingTimes* times = nullptr;             ///< where the work is counted, if it is
};

/// The most host memory that a loader's batches of `num_rows` rows take, two of them in the hands of the caller.
std::int64_t loader_bytes(const LoaderOptions& options, std::int64_t num_rows);

/// Prepares one rank's part of each batch ahead and hands them out in order. One thread of the rank makes all reads,
/// `num_workers` threads resize and normalise; with ReadMethod::pread they read too and are one more instead. Results
/// do not depend on their number. A batch's memory is used again once all its tensors are gone. Not collective.
class ImageLoader {
 public:
  /// Part `rank` of `num_ranks` of the batches of steps [first_step, last_step). `shards` must outlive the loader.
  ImageLoader(const ImageShards& shards, const Sampler& sampler, const LoaderOptions& options, int rank, int num_ranks,
              std::int64_t first_step, std::int64_t last_step);
  /// Ends the threads, without waiting for batches that are not begun.
  ~ImageLoader();
  ImageLoader(const ImageLoader&) = delete;
  ImageLoader& operator=(const ImageLoader&) = delete;

  /// Waits for the next batch; none after the last. An error of a thread is thrown here, in the place of its batch.
  std::optional<ImageBatch> next();

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace multicard
