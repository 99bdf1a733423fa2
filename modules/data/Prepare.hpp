#pragma once
/// \file Writing input shards (docs/data.md).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"
#include "config/Words.hpp"
#include "data/ShardOptions.hpp"

namespace multicard {

/// Where images come from.
enum class ImageFormat { idx, folder, cifar, parquet, synthetic };
inline constexpr Word<ImageFormat> kImageFormatWords[] = {{"idx", ImageFormat::idx},
                                                          {"folder", ImageFormat::folder},
                                                          {"cifar", ImageFormat::cifar},
                                                          {"parquet", ImageFormat::parquet},
                                                          {"synthetic", ImageFormat::synthetic}};
/// \throws UsageError
ImageFormat image_format(const std::string& word);

/// Options of `multicard prepare images`.
struct PrepareOptions : ShardOptions {
  ImageFormat format = ImageFormat::idx;
  std::string images;                    ///< idx: image file, gzip or plain; cifar, parquet: a file or a glob of them
  std::string labels;                    ///< idx: label file, gzip or plain
  std::string dir;                       ///< folder: one sub-folder a class; cifar: the folder of the *.bin files
  std::vector<std::string> columns;      ///< parquet: those of images and labels; empty: as they can be told
  std::optional<std::int64_t> size;      ///< height and width of the stored images; needed when sizes differ
  std::optional<std::int64_t> limit;     ///< only the first images of the input order; synthetic: the number made
  std::optional<std::int64_t> classes;   ///< number of classes; labels are checked against it
  std::vector<std::string> class_names;  ///< in label order; empty: the format's own
};

/// What was written.
struct PrepareResult {
  std::int64_t num_images = 0;
  std::int64_t num_skipped = 0;
  std::vector<std::string> files;
};

/// Collective. Writes the shards, all ranks together; each decodes an even part of every shard. The contents do not
/// depend on the number of ranks. Shards get their names when all of them are whole; after an error none is left.
/// \throws UsageError (options that contradict each other) and DataError (input, existing output, full disk), on all
/// ranks.
PrepareResult prepare_images(const PrepareOptions& options, const Communicator& communicator);

}  // namespace multicard
