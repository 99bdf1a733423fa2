#include "data/ImageSource.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "comm/Agreement.hpp"
#include "data/CifarSource.hpp"
#include "data/FolderSource.hpp"
#include "data/IdxSource.hpp"
#include "data/SyntheticSource.hpp"

namespace multicard {

namespace {

/// An option that the format does not have must not be passed over in silence.
void check_inputs(const PrepareOptions& options) {
  const std::string& format = options.format;
  const auto need = [&](bool is_there, const char* what) {
    if (!is_there) throw UsageError(fmt::format("--format {} needs {}", format, what));
  };
  const auto refuse = [&](bool is_there, const char* what) {
    if (is_there) throw UsageError(fmt::format("--format {} has no {}", format, what));
  };
  if (format == "idx") {
    need(!options.images.empty() && !options.labels.empty(), "--images FILE and --labels FILE");
    refuse(!options.dir.empty(), "--dir");
  } else if (format == "folder") {
    need(!options.dir.empty(), "--dir FOLDER");
    refuse(!options.images.empty() || !options.labels.empty(), "--images or --labels");
  } else if (format == "cifar") {
    need(options.dir.empty() != options.images.empty(), "either --dir FOLDER or --images FILES");
    refuse(!options.labels.empty(), "--labels");
  } else if (format == "synthetic") {
    refuse(!options.images.empty() || !options.labels.empty() || !options.dir.empty(), "input files");
  } else {
    throw UsageError(fmt::format("there is no image format {}", format), "", "Use idx, folder, cifar or synthetic.");
  }
}

}  // namespace

std::unique_ptr<ImageSource> open_image_source(const PrepareOptions& options, const Communicator& communicator) {
  constexpr std::int64_t kSyntheticImages = 1000, kSyntheticClasses = 10, kSyntheticSize = 32;
  agreed(communicator, [&] { check_inputs(options); });
  if (options.format == "folder") return std::make_unique<FolderSource>(options.dir, communicator);
  return agreed(communicator, [&]() -> std::unique_ptr<ImageSource> {
    if (options.format == "idx") return std::make_unique<IdxSource>(options.images, options.labels);
    if (options.format == "cifar") return std::make_unique<CifarSource>(cifar_files(options.dir, options.images));
    return std::make_unique<SyntheticSource>(options.limit.value_or(kSyntheticImages),
                                             options.classes.value_or(kSyntheticClasses),
                                             options.size.value_or(kSyntheticSize));
  });
}

}  // namespace multicard
