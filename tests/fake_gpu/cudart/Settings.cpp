#include <cstdlib>
#include <sstream>

#include "cudart/Runtime.hpp"

namespace fake {

namespace {

std::vector<std::int64_t> numbers(const char* name) {
  const char* text = std::getenv(name);
  std::istringstream words(text ? text : "");
  std::vector<std::int64_t> result;
  for (std::string word; std::getline(words, word, ',');)
    result.push_back(std::atoll(word.c_str()));
  return result;
}

std::int64_t hidden_of_this_rank() {
  if (environment("FAKE_GPU_HIDDEN_RANK", rank()) != rank()) return 0;
  return environment("FAKE_GPU_HIDDEN_MIB", 0) * static_cast<std::int64_t>(kMiB);
}

}  // namespace

std::int64_t environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::atoll(text) : otherwise;
}

int rank() {
  return static_cast<int>(environment("OMPI_COMM_WORLD_RANK", 0));
}

const Settings& settings() {
  static const Settings one{
      .devices = static_cast<int>(environment("FAKE_GPU_DEVICES", 1)),
      .driver = static_cast<int>(environment("FAKE_GPU_DRIVER", CUDART_VERSION)),
      .fail_rank = static_cast<int>(environment("FAKE_GPU_FAIL_RANK", 0)),
      .is_async = environment("FAKE_GPU_ASYNC", 0) != 0,
      .keeps_sites = environment("FAKE_GPU_SITES", 0) != 0,
      .keeps_order = environment("FAKE_GPU_ORDER", 0) != 0,
      .kernel_us = environment("FAKE_GPU_KERNEL_US", 0),
      // Of an H100 with 80 GB, less what a context takes.
      .memory = environment("FAKE_GPU_MEMORY_MIB", 81079 - 520) * static_cast<std::int64_t>(kMiB),
      .hidden = hidden_of_this_rank(),
      .hidden_from = environment("FAKE_GPU_HIDDEN_FROM", 0),
      .fail_at = environment("FAKE_GPU_FAIL_AT", 0),
      .largest_copy = environment("FAKE_GPU_LARGEST_COPY_MIB", std::int64_t{1} << 40) * static_cast<std::int64_t>(kMiB),
      .fail_error = static_cast<cudaError_t>(environment("FAKE_GPU_FAIL_ERROR", cudaErrorECCUncorrectable)),
      .log_at = numbers("FAKE_GPU_LOG_AT"),
  };
  return one;
}

bool is_made(std::size_t bytes) {
  return static_cast<std::int64_t>(bytes) <= settings().largest_copy;
}

std::int64_t memory_to_give() {
  const Settings& asked = settings();
  return num_begun_steps() < asked.hidden_from ? asked.memory : asked.memory - asked.hidden;
}

int num_devices() {
  return settings().driver < CUDART_VERSION ? 0 : settings().devices;
}

int driver_version() {
  return settings().driver;
}

int device_error() {
  const Settings& asked = settings();
  if (asked.fail_at == 0 || rank() != asked.fail_rank) return cudaSuccess;
  return num_launched() < static_cast<std::uint64_t>(asked.fail_at) ? cudaSuccess : asked.fail_error;
}

}  // namespace fake
