#include "data/loading/ImageLoader.hpp"

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include <ATen/core/Tensor.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "data/loading/DevicePreprocessor.hpp"
#include "prepare/sets/Prepare.hpp"
#include "support/test_world.hpp"
#include "unit/data/test_files.hpp"

namespace multicard {
namespace {

using namespace test;

constexpr std::int64_t kRows = 23, kSize = 6;

/// 23 synthetic images in three shards.
class LoaderTest : public testing::Test {
 protected:
  LoaderTest() {
    PrepareOptions prepare;
    prepare.format = ImageFormat::synthetic;
    prepare.output = scratch_ / "set";
    prepare.size = kSize;
    prepare.classes = 5;
    prepare.limit = kRows;
    prepare.num_shards = 3;
    prepare.quiet = true;
    result_ = prepare_images(prepare, world());
    shards_.emplace(scratch_ / "set*.h5", world());
  }

  LoaderOptions options(int num_workers, int prefetch = 2, ImageLayout layout = ImageLayout::nhwc) const {
    const ImageSetInfo& info = shards_->info();
    LoaderOptions loader;
    loader.preprocess = {info.height, info.width, info.channels, 8, info.mean, info.std, layout};
    loader.num_workers = num_workers;
    loader.prefetch = prefetch;
    return loader;
  }

  std::vector<ImageBatch> load(const LoaderOptions& loader_options, int rank, int num_ranks, std::int64_t first,
                               std::int64_t last) const {
    ImageLoader loader(*shards_, sampler_, loader_options, rank, num_ranks, first, last);
    std::vector<ImageBatch> batches;
    while (std::optional<ImageBatch> batch = loader.next())
      batches.push_back(std::move(*batch));
    return batches;
  }

  ScratchFolder scratch_;
  PrepareResult result_;
  std::optional<ImageShards> shards_;
  Sampler sampler_{{kRows, 8, 4, true, false}};
};

void expect_equal(const ImageBatch& a, const ImageBatch& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.num_rows, b.num_rows);
  EXPECT_EQ(a.global_rows, b.global_rows);
  EXPECT_TRUE(at::equal(a.images, b.images)) << "step " << a.step;
  EXPECT_TRUE(at::equal(a.labels, b.labels)) << "step " << a.step;
}

TEST_F(LoaderTest, DeliversTheSamplersRowsInStepOrder) {
  const std::vector<ImageBatch> batches = load(options(2), world().rank(), world().size(), 0, 7);

  ASSERT_EQ(batches.size(), 7u);
  const Preprocessor<float> preprocessor(options(1).preprocess);
  for (std::int64_t step = 0; step < 7; ++step) {
    const ImageBatch& batch = batches[static_cast<std::size_t>(step)];
    const std::vector<std::int64_t> rows = sampler_.part(step, world().rank(), world().size());
    ASSERT_EQ(batch.num_rows, static_cast<std::int64_t>(rows.size()));
    EXPECT_EQ(batch.step, step);
    EXPECT_EQ(batch.epoch, step / 3);
    EXPECT_EQ(batch.global_rows, step % 3 == 2 ? 7 : 8);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Bytes pixels(static_cast<std::size_t>(shards_->bytes_per_row()));
      shards_->read_rows(std::vector<std::int64_t>{rows[i]}, pixels);
      std::vector<float> want(8 * 8 * 3);
      preprocessor.run(pixels.data(), 1, want.data());
      const at::Tensor got = batch.images[static_cast<std::int64_t>(i)].permute({1, 2, 0}).contiguous();
      EXPECT_TRUE(std::equal(want.begin(), want.end(), got.const_data_ptr<float>()));
      EXPECT_EQ(batch.labels.const_data_ptr<std::int64_t>()[i], rows[i] % 5);
    }
  }
}

TEST_F(LoaderTest, GivesTheSameWhateverThreadsAndPrefetch) {
  const std::vector<ImageBatch> wanted = load(options(0), world().rank(), world().size(), 0, 6);
  for (const int num_workers : {1, 3})
    for (const int prefetch : {0, 1, 5}) {
      const std::vector<ImageBatch> got = load(options(num_workers, prefetch), world().rank(), world().size(), 0, 6);
      ASSERT_EQ(got.size(), wanted.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        expect_equal(got[i], wanted[i]);
    }
}

TEST_F(LoaderTest, GoesOnAtAnyStepOnAnyNumberOfRanks) {
  const std::vector<ImageBatch> whole = load(options(1), 0, 1, 0, 6);

  std::int64_t row = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const ImageBatch part = load(options(1), rank, 3, 4, 5).at(0);
    EXPECT_TRUE(at::equal(part.images, whole[4].images.narrow(0, row, part.num_rows)));
    EXPECT_TRUE(at::equal(part.labels, whole[4].labels.narrow(0, row, part.num_rows)));
    row += part.num_rows;
  }

  EXPECT_EQ(row, whole[4].num_rows);
}

TEST_F(LoaderTest, HasTheMemoryOrderAskedFor) {
  const ImageBatch nhwc = load(options(1), 0, 1, 0, 1).at(0);
  const ImageBatch nchw = load(options(1, 2, ImageLayout::nchw), 0, 1, 0, 1).at(0);

  EXPECT_EQ(nhwc.images.sizes(), (at::IntArrayRef{8, 3, 8, 8}));
  EXPECT_TRUE(nhwc.images.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_FALSE(nhwc.images.is_contiguous());
  EXPECT_TRUE(nchw.images.is_contiguous());
  EXPECT_TRUE(at::equal(nhwc.images, nchw.images));
}

TEST_F(LoaderTest, MakesDoublesWhenAsked) {
  LoaderOptions loader = options(1);
  loader.dtype = at::kDouble;

  const ImageBatch batch = load(loader, 0, 1, 0, 1).at(0);

  EXPECT_EQ(batch.images.scalar_type(), at::kDouble);
  EXPECT_TRUE(batch.images.allclose(load(options(1), 0, 1, 0, 1).at(0).images.to(at::kDouble), 1e-5, 1e-5));
}

TEST_F(LoaderTest, GivesEmptyBatchesToRanksWithoutRows) {
  for (const int num_workers : {0, 2}) {
    const std::vector<ImageBatch> batches = load(options(num_workers), 8, 9, 0, 4);
    ASSERT_EQ(batches.size(), 4u);
    for (const ImageBatch& batch : batches) {
      EXPECT_EQ(batch.num_rows, 0);
      EXPECT_EQ(batch.images.sizes(), (at::IntArrayRef{0, 3, 8, 8}));
      EXPECT_EQ(batch.labels.numel(), 0);
    }
  }
}

TEST_F(LoaderTest, UsesMemoryAgainOnceItIsReleased) {
  for (const int num_workers : {0, 2}) {
    ImageLoader loader(*shards_, sampler_, options(num_workers), 0, 1, 0, 300);
    std::set<const void*> places;
    while (std::optional<ImageBatch> batch = loader.next())
      places.insert(batch->images.const_data_ptr());
    EXPECT_LE(places.size(), 4u);
  }
}

TEST_F(LoaderTest, KeepsBatchesThatAreHeld) {
  std::vector<at::Tensor> views;
  std::vector<ImageBatch> wanted = load(options(0), 0, 1, 0, 20);
  {
    ImageLoader loader(*shards_, sampler_, options(2), 0, 1, 0, 20);
    // Only a part of the tensor is held, and longer than the loader lives.
    while (std::optional<ImageBatch> batch = loader.next())
      views.push_back(batch->images.narrow(0, 2, 3));
  }

  for (std::size_t i = 0; i < views.size(); ++i)
    EXPECT_TRUE(at::equal(views[i], wanted[i].images.narrow(0, 2, 3))) << i;
}

TEST_F(LoaderTest, ThrowsAnErrorOfTheReaderInPlaceOfItsBatch) {
  world().barrier();
  if (world().is_root())
    for (const std::string& file : result_.files)
      std::filesystem::resize_file(file, 3000);
  world().barrier();
  for (const int num_workers : {0, 1, 3}) {
    ImageLoader loader(*shards_, sampler_, options(num_workers), 0, 1, 0, 4);
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        loader.next();
        ADD_FAILURE() << num_workers;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::data);
        EXPECT_NE(std::string(error.what()).find("was truncated"), std::string::npos) << error.what();
      }
    }
  }
  world().barrier();
}

TEST_F(LoaderTest, CountsWhatBatchesTake) {
  for (const int num_workers : {0, 2}) {
    LoadingTimes times;
    LoaderOptions counted = options(num_workers);
    counted.times = &times;
    std::int64_t num_rows = 0;
    {
      ImageLoader loader(*shards_, sampler_, counted, 0, 1, 0, 4);
      while (const std::optional<ImageBatch> batch = loader.next())
        num_rows += batch->num_rows;
    }
    const LoadingTimes::Total read = times.total(LoadingStage::read), made = times.total(LoadingStage::transform);
    EXPECT_EQ(read.count, 4);
    EXPECT_EQ(read.bytes, num_rows * kSize * kSize * 3);
    EXPECT_GE(made.count, 4);  // workers share a batch
    EXPECT_GT(read.seconds, 0);
    EXPECT_GT(made.seconds, 0);
  }
}

TEST_F(LoaderTest, EndsItsThreadsAtOnce) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 50; ++i) {
    ImageLoader loader(*shards_, sampler_, options(3, 4), 0, 1, 0, 1000000);
    if (i % 2 == 0) loader.next();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST_F(LoaderTest, ReadsAheadNoFurtherThanAsked) {
  LoaderOptions loader_options = options(1, 3);
  ImageLoader loader(*shards_, sampler_, loader_options, 0, 1, 0, 1000);
  std::vector<ImageBatch> held;
  held.push_back(loader.next().value());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  std::set<const void*> places = {held[0].images.const_data_ptr()};

  // Three batches are ready; a fourth memory is in use only if it was handed out.
  for (int i = 0; i < 3; ++i)
    places.insert(loader.next()->images.const_data_ptr());

  EXPECT_LE(places.size(), 4u);
}

TEST_F(LoaderTest, GivesTheSameWhereverRowsComeFrom) {
  const std::vector<ImageBatch> wanted = load(options(0), world().rank(), world().size(), 0, 7);
  for (const ReadMethod method : {ReadMethod::hdf5, ReadMethod::pread})
    for (const KeepRows keep : {KeepRows::no, KeepRows::in_memory})
      for (const int num_workers : {0, 3}) {
        const ImageShards shards(scratch_ / "set*.h5", Communicator::null(), {}, {method, keep});
        ImageLoader loader(shards, sampler_, options(num_workers), world().rank(), world().size(), 0, 7);
        for (const ImageBatch& batch : wanted)
          expect_equal(loader.next().value(), batch);
        EXPECT_FALSE(loader.next());
      }
}

LoaderOptions augmented(LoaderOptions options) {
  options.augment = {0.5, RandomResizedCrop{0.2, 1, 0.5, 2}};
  return options;
}

TEST_F(LoaderTest, ShowsRowsThroughTheWindowsOfTheirEpoch) {
  const std::vector<ImageBatch> batches = load(augmented(options(2)), world().rank(), world().size(), 0, 6);
  const Preprocessor<float> preprocessor(options(1).preprocess);
  const Augmentation augmentation(augmented(options(1)).augment, 4, kSize, kSize);
  for (const ImageBatch& batch : batches) {
    const std::vector<std::int64_t> rows = sampler_.part(batch.step, world().rank(), world().size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Bytes pixels(static_cast<std::size_t>(shards_->bytes_per_row()));
      shards_->read_rows(std::vector<std::int64_t>{rows[i]}, pixels);
      const ImageWindow window = augmentation.window(batch.epoch, rows[i]);
      std::vector<float> want(8 * 8 * 3);
      preprocessor.run(pixels.data(), std::span(&window, 1), want.data());
      const at::Tensor got = batch.images[static_cast<std::int64_t>(i)].permute({1, 2, 0}).contiguous();
      EXPECT_TRUE(std::equal(want.begin(), want.end(), got.const_data_ptr<float>()));
    }
  }
}

TEST_F(LoaderTest, AugmentsTheSameOnAnyRanksAndThreadsAndAfterResuming) {
  const std::vector<ImageBatch> whole = load(augmented(options(0)), 0, 1, 0, 6);
  EXPECT_FALSE(at::equal(whole[0].images, load(options(0), 0, 1, 0, 1).at(0).images));

  for (const int num_workers : {0, 1, 3}) {
    std::int64_t row = 0;
    for (int rank = 0; rank < 3; ++rank) {
      const ImageBatch part = load(augmented(options(num_workers)), rank, 3, 4, 5).at(0);
      EXPECT_TRUE(at::equal(part.images, whole[4].images.narrow(0, row, part.num_rows)));
      row += part.num_rows;
    }
    EXPECT_EQ(row, whole[4].num_rows);
  }
}

TEST_F(LoaderTest, GivesTheSameBitsInBothPipelines) {
  for (const auto type : {at::kFloat, at::kDouble})
    for (const auto layout : {ImageLayout::nhwc, ImageLayout::nchw})
      for (const bool augments : {false, true})
        for (const int num_workers : {0, 2}) {
          LoaderOptions host = options(num_workers, 2, layout);
          host.dtype = type;
          if (augments) host = augmented(host);
          LoaderOptions device = host;
          device.pipeline = InputPipeline::device;
          const DevicePreprocessor preprocessor(host.preprocess, type, at::kCPU);
          const std::vector<ImageBatch> wanted = load(host, world().rank(), world().size(), 0, 4);
          const std::vector<ImageBatch> got = load(device, world().rank(), world().size(), 0, 4);
          ASSERT_EQ(got.size(), wanted.size());
          for (std::size_t i = 0; i < got.size(); ++i) {
            EXPECT_EQ(got[i].images.scalar_type(), at::kByte);
            EXPECT_EQ(got[i].images.sizes(), (at::IntArrayRef{got[i].num_rows, kSize, kSize, 3}));
            EXPECT_TRUE(got[i].images.is_contiguous());
            EXPECT_EQ(got[i].windows.defined(), augments);
            const at::Tensor images = preprocessor.run(got[i].images, got[i].windows);
            EXPECT_TRUE(at::equal(images, wanted[i].images));
            EXPECT_TRUE(at::equal(got[i].labels, wanted[i].labels));
            EXPECT_TRUE(images.is_contiguous(layout == ImageLayout::nhwc ? at::MemoryFormat::ChannelsLast
                                                                         : at::MemoryFormat::Contiguous));
          }
        }
}

TEST_F(LoaderTest, ReportsTheMemoryOfItsBatches) {
  for (const auto pipeline : {InputPipeline::host, InputPipeline::device})
    for (const int prefetch : {1, 4}) {
      LoaderOptions what = options(2, prefetch);
      what.pipeline = pipeline;
      ImageLoader loader(*shards_, sampler_, what, 0, 1, 0, 200);
      // The caller holds two batches all the time.
      std::set<std::pair<const void*, std::size_t>> places;
      std::optional<ImageBatch> last;
      while (std::optional<ImageBatch> batch = loader.next()) {
        for (const at::Tensor& tensor : {batch->images, batch->labels})
          places.insert({tensor.const_data_ptr(), static_cast<std::size_t>(tensor.nbytes()) / batch->num_rows * 8});
        last = std::move(batch);
      }
      std::size_t bytes = 0;
      for (const auto& [place, size] : places)
        bytes += size;
      EXPECT_LE(static_cast<std::int64_t>(bytes), loader_bytes(what, 8));
      EXPECT_GE(static_cast<std::int64_t>(bytes) * 4, loader_bytes(what, 8));
    }
}

}  // namespace
}  // namespace multicard
