#include "Runs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/BuildInfo.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "comm/Topology.hpp"
#include "device/Gpu.hpp"

namespace multicard {

Deck share_deck(const Communicator& world, const std::string& name, const std::function<Deck()>& load) {
  const std::string text = agreed(world, [&] { return world.is_root() ? load().to_yaml() : std::string(); });
  return Deck::parse(world.broadcast(text), name);
}

Provenance full_provenance(const Communicator& world, const std::string& command_line) {
  Provenance provenance = collect_provenance(world, command_line);
  const GpuSoftware software = gpu_software();
  provenance.driver = software.driver;
  provenance.cuda = software.cuda_runtime;
  provenance.nccl = software.nccl;
  std::string mine;
  for (const GpuInfo& gpu : visible_gpus())
    mine += fmt::format("{}{} {}", mine.empty() ? "" : "; ", gpu.name, gpu.bus_id);
  provenance.gpus = world.allgather(mine);
  return provenance;
}

std::string rate_text(const SessionResult& result) {
  std::vector<StepTimes> steps = result.record.steps;
  const auto skipped = static_cast<std::ptrdiff_t>(
      std::min<std::size_t>(steps.size(), static_cast<std::size_t>(result.summary.skip_steps)));
  if (skipped < static_cast<std::ptrdiff_t>(steps.size())) steps.erase(steps.begin(), steps.begin() + skipped);
  if (steps.empty()) return "no steps";
  double data = 0, reduce = 0, total = 0;
  for (const StepTimes& step : steps) {
    data += step.phases[static_cast<std::size_t>(Phase::data_wait)];
    reduce += step.phases[static_cast<std::size_t>(Phase::reduce_wait)];
    total += step.step;
  }
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::nth_element(steps.begin(), middle, steps.end(),
                   [](const StepTimes& a, const StepTimes& b) { return a.step < b.step; });
  const double batch = static_cast<double>(result.summary.integers.at("global_batch"));
  return fmt::format("{} img/s, {} ms a step (data wait {} %, reduction exposed {} %)",
                     significant(batch / middle->step, 4), significant(1e3 * middle->step, 4),
                     significant(100 * data / total, 2), significant(100 * reduce / total, 2));
}

void log_heading(const std::string& command, const std::string& deck) {
  const BuildInfo build = build_info();
  log_info(fmt::format("multicard {} ({})  {}  {}", build.version, build.git, command, deck));
}

}  // namespace multicard
