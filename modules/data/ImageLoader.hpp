#pragma once
/// \file Batches of images, prepared ahead by threads.

#include <cstdint>
#include <memory>
#include <optional>

#include <ATen/core/Tensor.h>

#include "comm/Topology.hpp"
#include "data/ImageShards.hpp"
#include "data/Preprocessor.hpp"
#include "data/Sampler.hpp"

namespace multicard {

/// One rank's rows of one global batch, in host memory.
struct ImageBatch {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  at::Tensor images;             ///< [num_rows, 3, size, size]; strides of channels_last for Layout::nhwc
  at::Tensor labels;             ///< int64 [num_rows]
  std::int64_t num_rows = 0;     ///< of this rank; may be 0
  std::int64_t global_rows = 0;  ///< over all ranks
};

enum class HostMemory { pageable, pinned };

struct LoaderOptions {
  int rank = 0;
  int num_ranks = 1;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;     ///< one past the last
  std::int64_t image_size = 0;    ///< height and width of the batches
  std::vector<double> mean, std;  ///< see PreprocessOptions; empty: the shards' own
  Layout layout = Layout::nhwc;
  at::ScalarType dtype = at::kFloat;  ///< kFloat or kDouble
  int workers = 1;                    ///< threads that resize and normalise, beside one that reads; 0: all in next()
  int prefetch = 2;                   ///< batches prepared ahead, at least 1
  HostMemory memory = HostMemory::pageable;  ///< pinned needs a GPU
};

/// Prepares the batches of steps first_step to last_step ahead and hands them out in order. One thread of the rank
/// makes all reads, `workers` threads resize and normalise; results do not depend on their number. A batch's memory is
/// used again once all its tensors are gone. Not collective.
class ImageLoader {
 public:
  /// `shards` must outlive the loader.
  ImageLoader(const ImageShards& shards, Sampler sampler, const LoaderOptions& options);
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

/// Collective over the node. Threads for `workers: auto`: the processors of this rank (of its affinity mask, divided by
/// the ranks of the node that share the mask) without those that compute, at least 1.
int automatic_workers(const Topology& topology, int compute_threads);

}  // namespace multicard
