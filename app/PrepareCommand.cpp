#include "Commands.hpp"
#include "base/HubCache.hpp"

namespace multicard {

ExitCode prepare_images_command(const PrepareOptions& options, const Communicator& world) {
  prepare_images(options, world);
  return ExitCode::complete;
}

ExitCode prepare_text_command(const TextPrepareOptions& options, const Communicator& world) {
  TextPrepareOptions local = options;
  local.tokenizer = model_folder(options.tokenizer);
  prepare_text(local, world);
  return ExitCode::complete;
}

}  // namespace multicard
