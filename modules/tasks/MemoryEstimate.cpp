#include "tasks/MemoryEstimate.hpp"

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard {

namespace {

std::string bytes(std::int64_t number) {
  return human_bytes(static_cast<double>(number));
}

/// ", batches 12 MB"; nothing for nothing.
std::string part(const char* name, std::int64_t number) {
  return number > 0 ? fmt::format(", {} {}", name, bytes(number)) : "";
}

}  // namespace

std::string MemoryEstimate::text() const {
  const std::string weights =
      frozen > 0 ? fmt::format("{} frozen, trained {}", bytes(frozen), bytes(parameters)) : bytes(parameters);
  return fmt::format("{} per rank (weights {}, gradients {}, optimizer {}{}{}{}{}{}, loader {}{})", bytes(total()),
                     weights, bytes(gradients), bytes(optimizer), part("average", average),
                     part("activations", activations), part("batches", batches), part("buffers", other),
                     part("gaps between blocks", gaps), bytes(loader), part("checkpoint copies", copies));
}

std::int64_t largest_that_fits(std::int64_t most, const std::function<bool(std::int64_t)>& fits) {
  std::int64_t fitting = 0;
  while (fitting < most) {
    const std::int64_t middle = fitting + (most - fitting + 1) / 2;
    if (fits(middle))
      fitting = middle;
    else
      most = middle - 1;
  }
  return fitting;
}

EnvironmentError out_of_memory_error(const MemoryEstimate& estimate, std::int64_t available, std::int64_t micro_batch) {
  const std::string suggestion =
      micro_batch > 0
          ? fmt::format(
                "Set run.micro_batch={}, the largest that fits (the global batch stays what it is), or use more "
                "ranks.",
                micro_batch)
          : "Lower data.image_size or data.max_length, use more ranks or a smaller model: not even run.micro_batch=1 "
            "fits.";
  // Activations are left out when the rest does not fit.
  return EnvironmentError(
      fmt::format("this run would need {}{}", estimate.activations > 0 ? "" : "at least ", estimate.text()),
      fmt::format("{} are available per rank", bytes(available)), suggestion);
}

}  // namespace multicard
