#include "tasks/MemoryNeed.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace {

std::string bytes(std::int64_t number) {
  return human_bytes(static_cast<double>(number));
}

}  // namespace

std::string MemoryNeed::text() const {
  const std::string averaged = average > 0 ? fmt::format(", average {}", bytes(average)) : "";
  return fmt::format("{} a rank (weights {}, gradients {}, optimizer {}{}, activations {}, loader {})", bytes(total()),
                     bytes(parameters), bytes(gradients), bytes(optimizer), averaged, bytes(activations),
                     bytes(loader));
}

void check_memory(const MemoryNeed& need, std::int64_t needed, std::int64_t available) {
  if (needed <= available) return;
  throw EnvironmentError(fmt::format("this run would need {}", need.text()),
                         fmt::format("{} are available to a rank", bytes(available)),
                         "Lower run.micro_batch, run.global_batch or data.image_size, or use more ranks.");
}

}  // namespace multicard
