#include "memory/MemoryEstimate.hpp"

#include <string_view>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "device/DeviceError.hpp"

namespace multicard {

namespace {

std::string bytes(std::int64_t number) {
  return human_bytes(static_cast<double>(number));
}

/// ", batches 12 MB"; nothing for nothing.
std::string part(const char* name, std::int64_t number) {
  return number > 0 ? fmt::format(", {} {}", name, bytes(number)) : "";
}

constexpr std::string_view kWouldNeed = "this run would need";
constexpr std::string_view kHostOutOfMemory = "out of memory";  // as_error() and any_error() begin so

}  // namespace

void MemoryEstimate::set_work(const StageBytes& most) {
  activations = most[WorkStage::forward];
  logits = most[WorkStage::logits];
  workspace = most[WorkStage::backward];
}

std::string MemoryEstimate::text() const {
  const std::string weights =
      frozen > 0 ? fmt::format("{} frozen, trained {}", bytes(frozen), bytes(parameters)) : bytes(parameters);
  const std::string rest = part("average", average) + part("activations", activations) + part("logits", logits) +
                           part("workspace", workspace) + part("evaluation", evaluation) + part("answers", answers) +
                           part("communication", communication) + part("compression", compression) +
                           part("batches", batches) + part("buffers", other) + part("gaps between blocks", gaps);
  return fmt::format("{} per rank (weights {}{}, gradients {}, optimizer {}{}, loader {}{})", bytes(total()), weights,
                     part("reference", reference), bytes(gradients), bytes(optimizer), rest, bytes(loader),
                     part("checkpoint copies", copies));
}

// A tenth: the 7 % that were measured, and some room.
std::int64_t gaps_between(std::int64_t bytes) {
  return bytes / 10;
}

StageBytes with_rounding(StageBytes bytes) {
  // A 32nd (3.1 %) covers the 2.2 % that were measured; tensors that last are few and large, and are counted without
  // it.
  for (std::int64_t& part : bytes.by_stage)
    part += part / 32;
  return bytes;
}

// Bisection; the number of calls is logarithmic, as each may run the extrapolation over all allocations of a pass.
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

std::vector<std::int64_t> divisors_of(std::int64_t number) {
  std::vector<std::int64_t> divisors, large;
  for (std::int64_t i = 1; i * i <= number; ++i) {
    if (number % i != 0) continue;
    divisors.push_back(i);
    if (i * i != number) large.push_back(number / i);
  }
  divisors.insert(divisors.end(), large.rbegin(), large.rend());
  return divisors;
}

// What exceeds the memory decides what helps. A smaller micro-batch shrinks training alone; where training fits and an
// evaluation or an answer does not, the message must name the keys of those.
EnvironmentError out_of_memory_error(const MemoryEstimate& estimate, std::int64_t available, std::int64_t micro_batch) {
  if (estimate.answers > 0 && estimate.on_device() - estimate.answers <= available)  // no other training helps
    return EnvironmentError(fmt::format("answering would need {}", estimate.text()),
                            fmt::format("{} are available per rank, which is enough to train", bytes(available)),
                            "Lower evaluate.max_new or evaluate.questions.max_new, shorten the prompts, or ask none.");
  const std::int64_t training = estimate.on_device() - estimate.answers - estimate.evaluation;
  if (estimate.evaluation > 0 && training <= available && micro_batch == 0)
    return EnvironmentError(fmt::format("evaluation would need {}", estimate.text()),
                            fmt::format("{} are available per rank, which is enough to train", bytes(available)),
                            "Shorten the rows of data.test, or leave it out.");
  const std::string suggestion =
      micro_batch > 0
          ? fmt::format(
                "Set run.micro_batch={}, the largest that fits (the global batch stays what it is), or use more "
                "ranks.",
                micro_batch)
          : "Lower data.image_size or data.max_length, use more ranks with parallel.shard=auto, or a smaller model: "
            "not even run.micro_batch=1 fits.";
  // Activations are left out when the rest does not fit.
  return EnvironmentError(fmt::format("{} {}{}", kWouldNeed, estimate.work() > 0 ? "" : "at least ", estimate.text()),
                          fmt::format("{} are available per rank", bytes(available)), suggestion);
}

bool is_out_of_memory(const Error& error) {
  return error.code() == ExitCode::environment &&
         (error.problem().starts_with(kWouldNeed) || error.problem().starts_with(kOutOfMemory) ||
          error.problem().starts_with(kHostOutOfMemory));
}

}  // namespace multicard
