#include "tasks/setup/NormValues.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "base/Blocks.hpp"
#include "base/Error.hpp"
#include "nn/vision/NetworkFactory.hpp"

namespace multicard {

namespace {

/// Pixels along a side of the image for each place of the smallest map.
std::int64_t stride_of(const RunOptions& options) {
  return total_stride(options.model.name);
}

/// Rows that are normalised together, at most.
std::int64_t rows_together(const RunOptions& options, std::int64_t num_rows, int num_ranks) {
  std::int64_t together = 0;
  for (int rank = 0; rank < num_ranks; ++rank) {
    const std::int64_t mine = block_of(num_rows, rank, num_ranks).count;
    const std::int64_t at_once = std::min(mine, options.run.micro_batch.value_or(mine));
    together = options.parallel.sync_batch_norm ? together + at_once : std::max(together, at_once);
  }
  return together;
}

}  // namespace

// The smallest map has ceil(size / stride) places a side, and a channel is normalised over side x side x rows values.
// Of one value x the variance is 0 and (x - mean) / sqrt(var + eps) = 0 whatever x is.
std::int64_t least_norm_values(const RunOptions& options, std::int64_t num_rows, int num_ranks) {
  if (options.is_language() || options.model.freeze_batch_norm) return std::numeric_limits<std::int64_t>::max();
  const std::int64_t side = (options.data.image_size + stride_of(options) - 1) / stride_of(options);
  return side * side * rows_together(options, num_rows, num_ranks);
}

void check_norm_values(const RunOptions& options, std::int64_t num_rows, int num_ranks) {
  if (least_norm_values(options, num_rows, num_ranks) > 1) return;
  const bool is_cut = options.run.micro_batch == 1 && num_rows > num_ranks;
  throw UsageError(
      fmt::format("a batch norm of {} would have one value per channel in every micro-batch", options.model.name),
      fmt::format("of one image of {} x {} pixels 1 x 1 is left there, and its outputs would not depend on the image",
                  options.data.image_size, options.data.image_size),
      fmt::format("Set data.image_size to at least {}, or {} to at least {}.", stride_of(options) + 1,
                  is_cut ? "run.micro_batch" : "run.global_batch", is_cut ? 2 : 2 * num_ranks))
      .on_all_ranks();
}

}  // namespace multicard
