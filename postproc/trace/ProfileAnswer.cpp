#include "postproc/trace/ProfileAnswer.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "postproc/trace/TableColumns.hpp"

namespace multicard::post {

namespace {

/// Nanoseconds by name.
using Totals = std::map<std::string, std::int64_t>;

/// "NAME takes 34.2 %" of the one with most; empty where there is none.
std::string largest_text(const Totals& totals) {
  std::int64_t all = 0;
  for (const auto& [name, time] : totals)
    all += time;
  if (all <= 0) return {};
  const auto most = std::ranges::max_element(totals, {}, &Totals::value_type::second);
  return fmt::format("{} takes {}", shortened(most->first),
                     percent(static_cast<double>(most->second) / static_cast<double>(all)));
}

}  // namespace

std::string profile_answer(const std::vector<const Profile*>& profiles, std::size_t num_ranks) {
  Totals kernels, operators;
  std::int64_t busy = 0, span = 0;
  std::size_t num_gpus = 0;
  for (const Profile* profile : profiles) {
    for (const NamedTimes& kernel : profile->kernels)
      kernels[kernel.name] += kernel.time.total;
    for (const OperatorRow& row : profile->operators)
      operators[row.name] += row.cost.self_ns;
    for (const GpuTime& gpu : profile->gpus) {
      busy += gpu.busy;
      span += gpu.span;
    }
    num_gpus += profile->gpus.size();
  }
  if (span > 0) {
    const std::string kernel = largest_text(kernels);
    return fmt::format("{} busy {} of the time{}", num_gpus == 1 && num_ranks == 1 ? "The GPU is" : "The GPUs are",
                       percent(static_cast<double>(busy) / static_cast<double>(span)),
                       kernel.empty() ? kernel : fmt::format("; of the time of kernels, {}", kernel));
  }
  const std::string host = largest_text(operators);
  return host.empty() ? host : "Of the operators’ own time on the host, " + host;
}

}  // namespace multicard::post
