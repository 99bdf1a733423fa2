#include "FitTable.hpp"

#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "base/Log.hpp"
#include "comm/Agreement.hpp"
#include "device/DeviceError.hpp"
#include "device/Memory.hpp"
#include "memory/WhatFits.hpp"
#include "tasks/setup/RunContext.hpp"

namespace multicard {

namespace {

std::vector<std::string> table_of(const FitQuestion& question) {
  return with_known_errors([&] { return what_fits(question); });
}

}  // namespace

std::int64_t bytes_from(const std::string& text) {
  static const std::map<std::string, double> kUnits{{"", 1},      {"B", 1},        {"MB", 1e6},     {"GB", 1e9},
                                                    {"TB", 1e12}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  constexpr double kMost = 0x1p62;  // sums of two are numbers too
  const bool is_empty = text.find_first_not_of(' ') == std::string::npos;
  std::size_t end = 0;
  double number = 0;
  try {
    number = std::stod(text, &end);
  } catch (const std::exception&) {
    end = 0;
  }
  const std::size_t begin = text.find_first_not_of(' ', end);
  const auto unit = kUnits.find(begin == std::string::npos ? "" : text.substr(begin));
  const double bytes = unit == kUnits.end() ? 0 : number * unit->second;
  if (end == 0 || !(bytes >= 1) || bytes > kMost)
    throw UsageError(fmt::format("--memory is {}", is_empty ? "empty" : text),
                     "it must be a number of bytes, with a unit or without", "Write 80GB, 24GiB or 40000MB.");
  return std::llround(bytes);
}

void log_what_fits(const RunOptions& options, const std::optional<std::string>& memory, const Communicator& world) {
  if (!options.is_language())
    throw UsageError("--what-fits is for decks of language models", "the deck trains an image classifier",
                     "run.micro_batch=auto chooses how many images fit, --dry-run shows what they take.")
        .on_all_ranks();
  const std::int64_t wanted = agreed(world, [&] { return memory ? bytes_from(*memory) : 0; });
  // Devices are chosen by all ranks together; the table is of rank 0's.
  const RunContext context(options, world);
  const RunContext::Current current(context);
  if (!world.is_root()) return;
  const DeviceChoice& device = context.device();
  log_info(fmt::format("{:<10}{}", "device", device.description));
  const std::int64_t available =
      wanted > 0 ? wanted
                 : bytes_for_rank(device.device, device.gpu ? device.num_sharing : context.topology().local_size);
  for (const std::string& line :
       table_of({options, device.device, available, splitting_ranks(options, context.topology(), world.size())}))
    log_info(line);
}

void log_what_would_fit(const RunOptions& options, const RankNumbers& ranks, Scope scope) {
  if (!options.is_language()) return;
  std::optional<LogRank> log_rank;
  if (scope == Scope::one_rank) log_rank.emplace(0);
  try {
    const at::Device device = device_in_use();
    // The tensors of the run that failed are gone, but the allocator still keeps their memory.
    release_cached_device_memory(device);
    for (const std::string& line :
         table_of({options, device, bytes_for_rank(device, device.is_cuda() ? 1 : ranks.of_node), ranks.splitting}))
      log_error_line(line);
  } catch (const std::exception& error) {
    log_warning(fmt::format("cannot estimate what would fit: {}", any_error(error).what()));
  }
}

}  // namespace multicard
