#pragma once
/// \file What `multicard prepare images` is asked for.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/Words.hpp"
#include "data/shards/ShardOptions.hpp"

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

}  // namespace multicard
