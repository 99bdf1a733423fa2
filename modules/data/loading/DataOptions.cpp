#include "data/loading/DataOptions.hpp"

#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kManyRows = std::numeric_limits<std::int64_t>::max();
constexpr double kMostWeight = 1e12;

// Values above 1 are refused, because statistics of 0..255 are the usual mistake and would train, badly, without an
// error.
std::optional<PixelStatistics> read_normalize(Section& data) {
  if (!data.has("normalize")) return std::nullopt;
  Section section = data.section("normalize");
  PixelStatistics normalize{section.list<double>("mean", {}), section.list<double>("std", {})};
  const std::size_t channels = normalize.mean.size();
  if (channels != normalize.std.size() || (channels != 1 && channels != 3))
    data.reject("normalize", "expected as many numbers in mean as in std", "one or three, of pixel/255");
  for (const double mean : normalize.mean)
    if (!(mean >= 0 && mean <= 1))
      section.reject("mean", fmt::format("expected means of pixel/255, which lie between 0 and 1, got {}", mean),
                     "divide those of 0..255 by 255");
  for (const double deviation : normalize.std)
    if (!(deviation > 0 && deviation <= 1))
      section.reject("std", fmt::format("expected deviations of pixel/255, above 0 and at most 1, got {}", deviation),
                     "divide those of 0..255 by 255");
  return normalize;
}

/// Two numbers, the first not above the second, both between `low` and `high`; none when the key is absent.
std::optional<std::pair<double, double>> read_interval(Section& section, const char* key, double low, double high) {
  const std::optional<std::vector<double>> ends = section.optional_list<double>(key);
  if (!ends) return std::nullopt;
  if (ends->size() == 2 && low <= ends->front() && ends->front() <= ends->back() && ends->back() <= high)
    return std::pair(ends->front(), ends->back());
  section.reject(key, fmt::format("expected two rising numbers between {} and {}", significant(low, 3), high));
  return std::nullopt;
}

AugmentOptions read_augment(Section section) {
  AugmentOptions augment;
  augment.horizontal_flip = section.get_in_range("horizontal_flip", augment.horizontal_flip, 0.0, 1.0);
  const auto area = read_interval(section, "random_resized_crop", 1e-6, 1);
  const auto ratio = read_interval(section, "crop_ratio", 0.01, 100);
  if (ratio && !area) section.reject("crop_ratio", "belongs to a crop", "data.augment.random_resized_crop is not set");
  if (!area) return augment;
  RandomResizedCrop& crop = augment.crop.emplace();
  std::tie(crop.scale_min, crop.scale_max) = *area;
  if (ratio) std::tie(crop.ratio_min, crop.ratio_max) = *ratio;
  return augment;
}

/// What both tasks read alike.
void read_common(Section& section, DataOptions& data) {
  data.pin_memory = section.get("pin_memory", data.pin_memory);
  data.prefetch = section.get_in_range("prefetch", data.prefetch, 0, 1024);
  data.reading.keep = section.choice("cache", data.reading.keep, kCacheWords);
  data.reading.method = section.choice("read", data.reading.method, kReadWords);
  data.shuffle = section.get("shuffle", data.shuffle);
  data.limit = section.optional_in_range<std::int64_t>("limit", 1, kManyRows);
  data.drop_last = section.get("drop_last", data.drop_last);
}

/// data.train where it is a list.
std::vector<WeightedFiles> read_mix(Section& data) {
  std::vector<WeightedFiles> mix;
  for (Section& set : data.sections("train")) {
    const std::string files = set.has("files") ? set.path("files", "") : set.require<std::string>("files");
    mix.push_back({files, set.get_in_range("weight", 1.0, kAboveZero, kMostWeight)});
  }
  if (mix.empty()) data.reject("train", "is an empty list", "there is nothing to train on");
  return mix;
}

/// Which rows there are.
DeckKeys row_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"data.train",
       any,
       identity,
       "training data",
       "training shards, a path or a glob, as `multicard prepare` writes them; for text also a list of sets `{files: "
       "GLOB, "
       "weight: NUMBER}`, whose rows are mixed in these proportions",
       {.fallback = "`data/fashion/train*.h5`; required with task llm"}},
      {"data.test",
       any,
       speed,
       "test data",
       "shards to evaluate on: a path or a glob",
       {.fallback = "`data/fashion/test*.h5`; none where `data.train` is set"}},
      {"data.image_size", image, work, "image size", "height and width that images are resized to"},
      {"data.packing", llm, work, "packing", "rows are packs of whole sequences, which see only themselves"},
      {"data.max_length", llm, work, "max length", "most tokens of a row; required for packing"},
      {"data.overlong", llm, work, "overlong",
       "sequences above `max_length`: `cut` them, `drop` them, or end with an `error`"},
  };
}

/// How they are read and moved.
DeckKeys input_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"data.pipeline", image, speed, "pipeline",
       "where images are resized and normalised: `host` threads, or the `device`, to which bytes are uploaded"},
      {"data.layout", image, speed, "layout", "memory format of activations"},
      {"data.pin_memory", any, speed, "pinned memory", "stage batches for a GPU in page-locked memory"},
      {"data.workers", image, speed, "workers", "threads that prepare batches on each rank"},
      {"data.prefetch", any, speed, "prefetch", "batches prepared ahead"},
      {"data.cache", any, speed, "cache",
       "`ram`: keep the rows a rank has read in host memory, so that later epochs read no file"},
      {"data.read", any, speed, "way of reading",
       "who reads the shards: `hdf5`, one thread per rank; `pread`, plain reads by all worker threads"},
  };
}

/// What is done to them, and in which order they come.
DeckKeys change_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"data.augment.horizontal_flip",
       image,
       speed,
       "horizontal flip",
       "probability that a training image is mirrored",
       {.on_resume = OnResume::same}},
      {"data.augment.random_resized_crop",
       image,
       speed,
       "random resized crop",
       "least and largest part of the area that is cut out and resized to `image_size`",
       {.fallback = "none", .on_resume = OnResume::same}},
      {"data.augment.crop_ratio",
       image,
       speed,
       "crop ratio",
       "least and largest width/height of a crop",
       {.fallback = "`[0.75, 1.3333]`", .on_resume = OnResume::same}},
      {"data.shuffle",
       any,
       speed,
       "shuffle",
       "a new order in every epoch; `false` keeps the order of the shards",
       {.on_resume = OnResume::same}},
      {"data.normalize.mean",
       image,
       learning,
       "normalize mean",
       "one or three numbers, of pixel/255",
       {.fallback = "from the shards"}},
      {"data.normalize.std",
       image,
       learning,
       "normalize std",
       "as many numbers, of pixel/255",
       {.fallback = "from the shards"}},
      {"data.limit", any, speed, "limit", "use the first samples only", {.on_resume = OnResume::same}},
      {"data.drop_last", any, learning, "drop last", "drop the short last batch of an epoch"},
  };
}

}  // namespace

std::vector<std::string> DataOptions::training_files() const {
  if (mix.empty()) return {train};
  std::vector<std::string> files;
  for (const WeightedFiles& set : mix)
    files.push_back(set.files);
  return files;
}

std::string DataOptions::training_text() const {
  return join(training_files(), ", ");
}

DataOptions read_image_data_options(Section& section) {
  DataOptions data;
  // The default test shards belong to the default training shards; other data have none unless they name them.
  const bool default_data = !section.has("train");
  if (section.is_list("train"))
    section.reject("train", "a list of sets is for text", "task is image", "Name the shards by one glob.");
  data.train = section.path("train", data.train);
  data.test = section.optional_path("test");
  if (default_data && !data.test) data.test = section.path("test", "data/fashion/test*.h5");
  data.image_size = section.get_in_range("image_size", data.image_size, 1, 4096);
  data.pipeline = section.choice("pipeline", data.pipeline, kPipelineWords);
  data.layout = section.choice("layout", data.layout, kLayoutWords);
  data.workers = section.automatic("workers", 0, 1024);
  data.augment = read_augment(section.section("augment"));
  data.normalize = read_normalize(section);
  read_common(section, data);
  return data;
}

// data.train of text has no default: shards depend on a model's tokenizer.
DataOptions read_text_data_options(Section& section) {
  DataOptions data;
  if (section.is_list("train")) {
    data.train.clear();
    data.mix = read_mix(section);
  } else {
    data.train = section.has("train") ? section.path("train", "") : section.require<std::string>("train");
  }
  data.test = section.optional_path("test");
  data.packing = section.get("packing", data.packing);
  data.max_length = section.optional_in_range<std::int64_t>("max_length", 2, std::numeric_limits<std::int32_t>::max());
  data.overlong = section.choice("overlong", data.overlong, kOverlongWords);
  if (data.packing && !data.max_length)
    section.reject("packing", "needs data.max_length", "a pack holds at most that many tokens",
                   "Set it, e.g. to 2048.");
  read_common(section, data);
  return data;
}

DeckKeys data_keys() {
  return concatenated({row_keys(), input_keys(), change_keys()});
}

}  // namespace multicard
