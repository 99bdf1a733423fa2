#pragma once
/// \file What a deck says of its data.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/DeckKey.hpp"
#include "config/Words.hpp"
#include "data/loading/Augmentation.hpp"
#include "data/loading/Preprocessor.hpp"
#include "data/shards/PixelStatistics.hpp"
#include "data/shards/RowOptions.hpp"
#include "data/shards/ShardReading.hpp"

namespace multicard {

inline constexpr Word<InputPipeline> kPipelineWords[] = {{"host", InputPipeline::host},
                                                         {"device", InputPipeline::device}};
inline constexpr Word<ImageLayout> kLayoutWords[] = {{"nhwc", ImageLayout::nhwc}, {"nchw", ImageLayout::nchw}};
inline constexpr Word<KeepRows> kCacheWords[] = {{"none", KeepRows::no}, {"ram", KeepRows::in_memory}};
inline constexpr Word<ReadMethod> kReadWords[] = {{"hdf5", ReadMethod::hdf5}, {"pread", ReadMethod::pread}};
inline constexpr Word<Overlong> kOverlongWords[] = {
    {"cut", Overlong::cut}, {"drop", Overlong::drop}, {"error", Overlong::error}};

/// One of the training sets that are mixed.
struct WeightedFiles {
  std::string files;  ///< shards: a path or a glob
  double weight = 1;  ///< its share of the rows of an epoch, relative to the other sets' weights

  bool operator==(const WeightedFiles&) const = default;
};

struct DataOptions {
  std::string train = "data/fashion/train*.h5";  ///< shards: a path or a glob; empty where sets are mixed
  std::vector<WeightedFiles> mix;                ///< text: the sets that are mixed by their weights
  std::optional<std::string> test;               ///< shards to evaluate on; none: no evaluation
  bool pin_memory = true;                        ///< stage batches for a GPU in page-locked memory
  int prefetch = 2;                              ///< batches prepared ahead
  ShardReading reading;                          ///< who reads the shards, and whether what was read is kept
  bool shuffle = true;                           ///< false: shard order in every epoch
  std::optional<std::int64_t> limit;             ///< use the first samples only
  bool drop_last = false;                        ///< drop the short last batch of an epoch
  // Images
  int image_size = 100;                          ///< height and width that images are resized to
  InputPipeline pipeline = InputPipeline::host;  ///< where images are resized and normalised
  ImageLayout layout = ImageLayout::nhwc;        ///< memory format of activations
  std::optional<int> workers;                    ///< threads that prepare batches; none: chosen by the program
  AugmentOptions augment;                        ///< of training images
  std::optional<PixelStatistics> normalize;      ///< none: mean and std stored in the shards
  // Text
  bool packing = false;                    ///< put several sequences into one row
  std::optional<std::int64_t> max_length;  ///< most tokens of a row; none: the longest sequence
  Overlong overlong = Overlong::cut;       ///< sequences above max_length

  /// The paths and globs of all training sets.
  std::vector<std::string> training_files() const;
  /// They as messages name them.
  std::string training_text() const;
};

/// \param data the section data
DataOptions read_image_data_options(Section& data);
/// \param data the section data
DataOptions read_text_data_options(Section& data);

/// The rows of the keys whose values this module defines.
DeckKeys data_keys();

}  // namespace multicard
