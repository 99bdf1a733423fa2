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
  const std::string weights =
      frozen > 0 ? fmt::format("{} frozen, trained {}", bytes(frozen), bytes(parameters)) : bytes(parameters);
  return fmt::format("{} a rank (weights {}, gradients {}, optimizer {}{}, activations {}, loader {})", bytes(total()),
                     weights, bytes(gradients), bytes(optimizer), averaged, bytes(activations), bytes(loader));
}

void check_memory(const MemoryNeed& need, std::int64_t needed, std::int64_t available) {
  if (needed <= available) return;
  throw EnvironmentError(
      fmt::format("this run would need {}", need.text()), fmt::format("{} are available to a rank", bytes(available)),
      "Lower run.micro_batch, run.global_batch, data.image_size or data.max_length, or use more ranks.");
}

}  // namespace multicard
