#include "prepare/sets/ShardWriter.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Blocks.hpp"
#include "base/Error.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "data/shards/ClassNames.hpp"
#include "data/shards/ShardFormat.hpp"
#include "data/shards/ShardMembership.hpp"
#include "prepare/images/Resize.hpp"

namespace multicard {

namespace {

/// What a rank holds in memory at once.
constexpr std::int64_t kPieceBytes = std::int64_t{64} << 20;

std::vector<std::uint8_t> replicated(const std::vector<std::uint8_t>& grey) {
  std::vector<std::uint8_t> colour;
  colour.reserve(3 * grey.size());
  for (const std::uint8_t value : grey)
    colour.insert(colour.end(), 3, value);
  return colour;
}

Extents extents(std::int64_t first, const ImageShape& shape) {
  const auto extent = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  return {extent(first), extent(shape.height), extent(shape.width), extent(shape.channels)};
}

}  // namespace

ShardWriter::ShardWriter(const ImageSource& source, ShardSet set, const Communicator& communicator)
    : source_(source),
      set_(std::move(set)),
      communicator_(communicator),
      files_(set_.prefix, set_.num_shards, communicator),
      sums_(set_.shape.channels) {}

void ShardWriter::write_images(PrepareProgress& progress) {
  for (std::int64_t shard = 0; shard < set_.num_shards; ++shard)
    write_shard(shard, progress);
  sums_.reduce(communicator_);
}

void ShardWriter::write_shard(std::int64_t shard, PrepareProgress& progress) {
  const Block rows = block_of(static_cast<std::int64_t>(set_.images.size()), shard, set_.num_shards);
  Hdf5File file = Hdf5File::create(files_.path(shard), communicator_);
  Hdf5Dataset images = file.create_dataset<std::uint8_t>(shard_format::kImages, extents(rows.count, set_.shape));
  Hdf5Dataset labels =
      file.create_dataset<std::int32_t>(shard_format::kLabels, {static_cast<std::uint64_t>(rows.count)});
  try {
    agreed_after_long_work(communicator_, [&] { write_part(images, labels, rows.first, progress); });
  } catch (const Error&) {
    // All ranks are here; left open, the file could not be removed everywhere.
    file.close();
    throw;
  }
  file.close();
}

// Writes are independent, not collective: ranks need different times for decoding, and each writes its own rows. A rank
// holds one piece of pixels at a time.
void ShardWriter::write_part(Hdf5Dataset& images, Hdf5Dataset& labels, std::int64_t first_of_shard,
                             PrepareProgress& progress) {
  const auto num_rows = static_cast<std::int64_t>(labels.num_elements());
  const Block mine = block_of(num_rows, communicator_.rank(), communicator_.size());
  const std::int64_t piece_rows = std::max<std::int64_t>(1, kPieceBytes / set_.shape.num_bytes());
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> values;
  for (std::int64_t first = mine.first; first < mine.first + mine.count; first += piece_rows) {
    const std::int64_t count = std::min(piece_rows, mine.first + mine.count - first);
    pixels.clear();
    values.clear();
    for (std::int64_t row = first; row < first + count; ++row) {
      const std::int64_t index = set_.images[static_cast<std::size_t>(first_of_shard + row)];
      const Image image = stored_image(index);
      pixels.insert(pixels.end(), image.pixels.begin(), image.pixels.end());
      values.push_back(static_cast<std::int32_t>(source_.label(index)));
      progress.advance();
    }
    sums_.add(pixels);
    Extents start = {static_cast<std::uint64_t>(first), 0, 0, 0};
    images.write<std::uint8_t>(start, extents(count, set_.shape), pixels);
    labels.write<std::int32_t>({start[0]}, {static_cast<std::uint64_t>(count)}, values);
  }
}

Image ShardWriter::stored_image(std::int64_t index) const {
  Image image = source_.read(index);
  if (image.shape.height != set_.shape.height || image.shape.width != set_.shape.width)
    image = resized(std::move(image), set_.shape.height);
  if (image.shape.channels == 1 && set_.shape.channels == 3)
    image = {{image.shape.height, image.shape.width, 3}, replicated(image.pixels)};
  if (image.shape != set_.shape)
    throw DataError(fmt::format("{} has changed", source_.name_of(index)), "its size changed while it was read");
  return image;
}

// A second opening, by root alone: mean and deviation are known only after all pixels are written, and the format is
// the last thing that makes a file a shard.
void ShardWriter::write_attributes(const std::string& source_sha256) {
  agreed(communicator_, [&] {
    if (!communicator_.is_root()) return;
    std::vector<std::int32_t> labels;
    for (const std::int64_t index : set_.images)
      labels.push_back(static_cast<std::int32_t>(source_.label(index)));
    for (std::int64_t shard = 0; shard < files_.size(); ++shard) {
      Hdf5File file = Hdf5File::open_update(files_.path(shard));
      file.write_attribute("/", "format", std::string(shard_format::kFormat));
      file.write_attribute("/", "schema_version", shard_format::kSchemaVersion);
      file.write_attribute("/", "class_names", set_.class_names);
      file.write_attribute("/", "source", source_.description());
      file.write_attribute("/", "source_sha256", source_sha256);
      file.write_attribute("/", "count", static_cast<std::int64_t>(set_.images.size()));
      write_place(file, shard, files_.size());
      file.write_attribute("/", "labels_sha256", digest_of_labels(labels));
      file.write_attribute("/", "mean", sums_.mean());
      file.write_attribute("/", "std", sums_.std());
      file.close();
    }
  });
}

}  // namespace multicard
