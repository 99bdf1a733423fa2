#include "prepare/sets/DatasetScan.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/Blocks.hpp"
#include "base/Error.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "prepare/files/BadInputs.hpp"
#include "prepare/sets/PrepareProgress.hpp"

namespace multicard {

namespace {

/// An image and its shape, as whole numbers that ranks can exchange.
struct Sighting {
  std::int64_t index = -1, height = 0, width = 0;

  bool exists() const { return index >= 0; }
  bool has_size_of(const Sighting& other) const { return height == other.height && width == other.width; }
};

/// What one rank has seen. The first image and the first of another size are enough: sizes differ somewhere exactly if
/// two of all ranks' sightings do.
struct Findings {
  Sighting first, other;  ///< the first image, and the first one of another size
  std::int64_t most_channels = 0;
  std::vector<BadInput> bad;

  void add(std::int64_t index, const ImageShape& shape) {
    const Sighting now{index, shape.height, shape.width};
    if (!first.exists()) first = now;
    if (!other.exists() && !now.has_size_of(first)) other = now;
    most_channels = std::max(most_channels, shape.channels);
  }
};

void check_label(const ImageSource& source, std::int64_t index, std::int64_t num_classes) {
  const std::int64_t label = source.label(index);
  if (label < 0 || label >= num_classes)
    throw DataError(fmt::format("{} has label {}", source.name_of(index), label),
                    fmt::format("there are {} classes, labels start at 0", num_classes));
}

Findings look(const ImageSource& source, Block block, const PrepareOptions& options, PrepareProgress& progress) {
  Findings findings;
  for (std::int64_t index = block.first; index < block.first + block.count; ++index) {
    try {
      // With --skip-bad pictures are decoded here and again when they are written: the sizes of shards, and the place
      // of each image, must be known before the first is written.
      findings.add(index, options.skip_bad ? source.read(index).shape : source.shape_of(index));
    } catch (const DataError& error) {
      if (!options.skip_bad) throw;
      findings.bad.push_back({index, error.what()});
    }
    progress.advance();
  }
  return findings;
}

/// Collective. The sightings of all ranks that have seen any image, in input order.
std::vector<Sighting> gather(const std::vector<Sighting>& mine, const Communicator& communicator) {
  std::vector<std::int64_t> numbers;
  for (const Sighting& sighting : mine)
    numbers.insert(numbers.end(), {sighting.index, sighting.height, sighting.width});
  const std::vector<std::int64_t> all = communicator.allgather(std::span<const std::int64_t>(numbers));
  std::vector<Sighting> found;
  for (std::size_t i = 0; i < all.size(); i += 3)
    if (all[i] >= 0) found.push_back({all[i], all[i + 1], all[i + 2]});
  return found;
}

/// Collective. The shape of all images together.
ImageShape merge_shapes(const Findings& mine, const ImageSource& source, const PrepareOptions& options,
                        const Communicator& communicator) {
  const std::int64_t channels = communicator.allreduce(mine.most_channels, ReduceOp::max);
  const std::vector<Sighting> sightings = gather({mine.first, mine.other}, communicator);
  if (sightings.empty()) throw DataError("no image can be read").on_all_ranks();
  if (options.size) return {*options.size, *options.size, channels};
  const Sighting& first = sightings.front();
  for (const Sighting& other : sightings)
    if (!other.has_size_of(first))
      throw DataError("the images have different sizes",
                      fmt::format("{} is {} x {}, {} is {} x {}", source.name_of(first.index), first.width,
                                  first.height, source.name_of(other.index), other.width, other.height),
                      "Give --size S to resize all of them to S x S.")
          .on_all_ranks();
  return {first.height, first.width, channels};
}

}  // namespace

DatasetScan scan_images(const ImageSource& source, const PrepareOptions& options, std::int64_t num_classes,
                        const Communicator& communicator) {
  const std::int64_t count = std::min(source.size(), options.limit.value_or(source.size()));
  if (count == 0) throw DataError(fmt::format("{} holds no images", source.description())).on_all_ranks();
  const Block block = block_of(count, communicator.rank(), communicator.size());
  agreed(communicator, [&] {
    for (std::int64_t index = block.first; index < block.first + block.count; ++index)
      check_label(source, index, num_classes);
  });
  std::vector<BadInput> bad;
  DatasetScan scan;
  if (const std::optional<ImageShape> common = source.common_shape()) {
    scan.shape = *common;
    if (options.size) scan.shape.height = scan.shape.width = *options.size;
  } else {
    PrepareProgress progress("checking", count, "images", communicator,
                             options.quiet ? Loudness::quiet : Loudness::normal);
    Findings mine;
    agreed_after_long_work(communicator, [&] { mine = look(source, block, options, progress); });
    bad = merge_bad(mine.bad, communicator);
    report_bad(bad, "image", "images");
    scan.shape = merge_shapes(mine, source, options, communicator);
  }
  scan.num_skipped = static_cast<std::int64_t>(bad.size());
  auto next_bad = bad.begin();
  for (std::int64_t index = 0; index < count; ++index) {
    if (next_bad != bad.end() && next_bad->index == index)
      ++next_bad;
    else
      scan.kept.push_back(index);
  }
  return scan;
}

}  // namespace multicard
