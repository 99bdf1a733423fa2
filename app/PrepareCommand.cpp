#include "Commands.hpp"

namespace multicard {

ExitCode prepare_images_command(const PrepareOptions& options, const Communicator& world) {
  prepare_images(options, world);
  return ExitCode::complete;
}

ExitCode prepare_text_command(const TextPrepareOptions& options, const Communicator& world) {
  prepare_text(options, world);
  return ExitCode::complete;
}

}  // namespace multicard
