#pragma once
/// \file Batches of tokens, read ahead by a thread.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <ATen/core/Tensor.h>

#include "base/RowShape.hpp"
#include "data/loading/BatchPool.hpp"
#include "data/loading/LoadingTimes.hpp"
#include "data/loading/Sampler.hpp"
#include "data/loading/TextRows.hpp"
#include "data/shards/RowShards.hpp"

namespace multicard {

/// One rank's rows of one global batch, in host memory.
struct TextBatch {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  /// int64 [num_rows, width], padded with 0; width is the length of the longest row of the whole global batch.
  at::Tensor tokens;
  /// int64 [num_rows, width]: the token to be predicted at this position, that is the next one of the same sequence
  /// where it is a target, else -100.
  at::Tensor targets;
  std::vector<RowShape> shapes;     ///< of this rank's rows
  std::vector<std::int64_t> rows;   ///< their numbers in TextRows
  std::int64_t num_rows = 0;        ///< of this rank; may be 0
  std::int64_t global_rows = 0;     ///< over all ranks
  std::int64_t global_targets = 0;  ///< targets in the rows of all ranks
};

/// A target that does not count.
inline constexpr std::int64_t kNoTarget = -100;

struct TextLoaderOptions {
  int prefetch = 2;                          ///< batches read ahead by a thread; 0: all in next()
  HostMemory memory = HostMemory::pageable;  ///< pinned needs a GPU
  LoadingTimes* times = nullptr;             ///< where the work is counted, if it is
};

/// \name What any rank can tell of a step without reading
/// @{
/// The rows of the global batch of `step`, in order.
std::vector<RowShape> shapes_of_step(const TextRows& rows, const Sampler& sampler, std::int64_t step);
/// Tokens of the longest of these rows, 0 for none.
std::int64_t width_of(const std::vector<RowShape>& shapes);
/// @}

/// The most host memory that a loader's batches of `num_rows` rows of up to `width` tokens take, two of them in the
/// hands of the caller.
std::int64_t loader_bytes(const TextLoaderOptions& options, std::int64_t num_rows, std::int64_t width);

/// Reads one rank's part of each batch ahead, in one thread, and hands them out in order. A batch's memory is used
/// again once all its tensors are gone. Not collective.
class TextLoader {
 public:
  /// Part `rank` of `num_ranks` of the batches of steps [first_step, last_step). The sampler has rows.num_rows() rows.
  /// What `shards` refers to and `rows` must outlive the loader.
  TextLoader(const RowShards& shards, const TextRows& rows, const Sampler& sampler, const TextLoaderOptions& options,
             int rank, int num_ranks, std::int64_t first_step, std::int64_t last_step);
  /// Ends the thread, without waiting for batches that are not begun.
  ~TextLoader();
  TextLoader(const TextLoader&) = delete;
  TextLoader& operator=(const TextLoader&) = delete;

  /// Waits for the next batch; none after the last. An error of the thread is thrown here, in the place of its batch.
  std::optional<TextBatch> next();

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace multicard
