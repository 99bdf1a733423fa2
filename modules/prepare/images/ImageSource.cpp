#include "prepare/images/ImageSource.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "io/Glob.hpp"
#include "prepare/images/CifarSource.hpp"
#include "prepare/images/FolderSource.hpp"
#include "prepare/images/IdxSource.hpp"
#include "prepare/images/ParquetSource.hpp"
#include "prepare/images/SyntheticSource.hpp"

namespace multicard {

namespace {

/// An option that the format does not have must not be passed over in silence.
void check_inputs(const PrepareOptions& options) {
  const std::string_view format = word_of(options.format, kImageFormatWords);
  const auto need = [&](bool is_there, const char* what) {
    if (!is_there) throw UsageError(fmt::format("--format {} needs {}", format, what));
  };
  const auto refuse = [&](bool is_there, const char* what) {
    if (is_there) throw UsageError(fmt::format("--format {} has no {}", format, what));
  };
  refuse(!options.columns.empty() && options.format != ImageFormat::parquet, "--columns");
  switch (options.format) {
    case ImageFormat::idx:
      need(!options.images.empty() && !options.labels.empty(), "--images FILE and --labels FILE");
      return refuse(!options.dir.empty(), "--dir");
    case ImageFormat::folder:
      need(!options.dir.empty(), "--dir FOLDER");
      return refuse(!options.images.empty() || !options.labels.empty(), "--images or --labels");
    case ImageFormat::cifar:
      need(options.dir.empty() != options.images.empty(), "either --dir FOLDER or --images FILES");
      return refuse(!options.labels.empty(), "--labels");
    case ImageFormat::parquet:
      need(!options.images.empty(), "--images FILES");
      if (!options.columns.empty() && options.columns.size() != 2)
        throw UsageError("--columns names two columns, that of images and that of labels");
      return refuse(!options.labels.empty() || !options.dir.empty(), "--labels or --dir");
    case ImageFormat::synthetic:
      refuse(!options.images.empty() || !options.labels.empty() || !options.dir.empty(), "input files");
  }
}

}  // namespace

ImageFormat image_format(const std::string& word) {
  if (const auto format = value_of<ImageFormat>(word, kImageFormatWords)) return *format;
  throw UsageError(fmt::format("there is no image format {}", word), "",
                   fmt::format("Use one of {}.", join(texts_of<ImageFormat>(kImageFormatWords), ", ")));
}

// A folder is opened outside of agreed(), because it is itself collective: rank 0 lists it for all.
std::unique_ptr<ImageSource> open_image_source(const PrepareOptions& options, const Communicator& communicator) {
  constexpr std::int64_t kSyntheticImages = 1000, kSyntheticClasses = 10, kSyntheticSize = 32;
  agreed(communicator, [&] { check_inputs(options); });
  if (options.format == ImageFormat::folder) return std::make_unique<FolderSource>(options.dir, communicator);
  return agreed(communicator, [&]() -> std::unique_ptr<ImageSource> {
    if (options.format == ImageFormat::idx) return std::make_unique<IdxSource>(options.images, options.labels);
    if (options.format == ImageFormat::cifar)
      return std::make_unique<CifarSource>(cifar_files(options.dir, options.images));
    if (options.format == ImageFormat::parquet)
      return std::make_unique<ParquetSource>(expand_glob(options.images), options.columns);
    return std::make_unique<SyntheticSource>(options.limit.value_or(kSyntheticImages),
                                             options.classes.value_or(kSyntheticClasses),
                                             options.size.value_or(kSyntheticSize));
  });
}

}  // namespace multicard
