#pragma once
/// \file Image shards as a source of batches.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/loading/DataSource.hpp"
#include "data/loading/DevicePreprocessor.hpp"
#include "data/loading/ImageLoader.hpp"
#include "data/shards/ImageShards.hpp"

namespace multicard {

/// Which images are read, and how.
struct ImageSourceOptions {
  std::string shards;  ///< a path or a glob
  std::optional<std::int64_t> limit;
  ShardReading reading;
  /// Height, width and channels are the shards' own; so are mean and std where they are empty.
  LoaderOptions loader;
  SamplerOptions order;  ///< num_rows is the shards' own
  /// What labels stand for, in this order: those of a set with other classes are mapped by name. Empty: the set's own.
  std::vector<std::string> class_names;
};

/// Batches of images [num_rows, 3, size, size] with labels int64 [num_rows].
class ImageDataSource final : public DataSource {
 public:
  /// Collective: opens the shards, of which everything is known with a `scan`, that of a source with the same options.
  /// \throws as ImageShards, its take_classes(), Sampler and Preprocessor
  static std::unique_ptr<ImageDataSource> open(const ImageSourceOptions& options, const Communicator& communicator,
                                               at::Device device,
                                               const std::shared_ptr<const ImageSetScan>& scan = nullptr);

  const ImageShards& shards() const { return shards_; }
  /// Per channel, of pixel / 255.
  const std::vector<double>& mean() const { return loader_options_.preprocess.mean; }
  const std::vector<double>& std() const { return loader_options_.preprocess.std; }

  Batch allocate(std::int64_t step) const override;
  WorkUnit unit() const override { return {"images", "img"}; }
  std::int64_t work_in(std::int64_t step) const override { return rows_in(step); }
  InputMemory memory(std::int64_t rows, std::int64_t rows_read) const override;
  PartShape largest_part(std::int64_t rows, const ReadPlan&) const override {
    return {rows, rows * loader_options_.preprocess.size * loader_options_.preprocess.size};
  }
  /// Mean and deviation of the pixels, see PixelStatistics.hpp.
  std::map<std::string, double> identity() const override;
  /// Classes and a digest of the labels, see ClassNames.hpp.
  std::map<std::string, std::string> identity_texts() const override { return identity_texts_; }

 private:
  /// What can fail on one rank alone.
  struct Parts {
    Parts(const ImageSourceOptions& options, const ImageSetInfo& set, at::Device device);

    LoaderOptions loader;
    Sampler sampler;
    std::optional<DevicePreprocessor> on_device;
  };

  ImageDataSource(ImageShards shards, Parts parts, at::Device device);

  void open_loader(int rank, int num_ranks, std::int64_t first_step, std::int64_t last_step) override;
  void close_loader() override { loader_.reset(); }
  Batch read() override;
  Batch finish_on_device(Batch batch) const override;

  ImageShards shards_;
  LoaderOptions loader_options_;
  std::map<std::string, std::string> identity_texts_;
  std::optional<DevicePreprocessor> on_device_;  ///< InputPipeline::device
  std::unique_ptr<ImageLoader> loader_;          ///< last, so that it ends before the shards are closed
};

}  // namespace multicard
