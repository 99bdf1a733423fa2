#include "Runs.hpp"

#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "base/BuildInfo.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "comm/Topology.hpp"
#include "device/Gpu.hpp"

namespace multicard {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

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
  const std::vector<StepTimes>& steps = result.record.steps;
  const std::size_t skipped = std::min(steps.size(), static_cast<std::size_t>(result.summary.skip_steps));
  if (steps.empty()) return "no steps";
  double data = 0, reduce = 0, total = 0;
  std::vector<double> seconds, rates;
  for (std::size_t i = skipped < steps.size() ? skipped : 0; i < steps.size(); ++i) {
    data += steps[i].phases[static_cast<std::size_t>(Phase::data_wait)];
    reduce += steps[i].phases[static_cast<std::size_t>(Phase::reduce_wait)];
    total += steps[i].step;
    seconds.push_back(steps[i].step);
    rates.push_back(static_cast<double>(result.work[i]) / steps[i].step);
  }
  return fmt::format("{} {}/s, {} ms a step (data wait {} %, reduction exposed {} %)", significant(median(rates), 4),
                     result.unit.abbreviation, significant(1e3 * median(seconds), 4),
                     significant(100 * data / total, 2), significant(100 * reduce / total, 2));
}

void log_heading(const std::string& command, const std::string& deck) {
  const BuildInfo build = build_info();
  log_info(fmt::format("multicard {} ({})  {}  {}", build.version, build.git, command, deck));
}

void log_finished(const std::string& results, const std::string& what) {
  log_info(fmt::format("{} holds this {}, finished. Set run.resume=never to run it again.", results, what));
}

void print_if_quiet(const std::string& results, const DeckArguments& arguments, const Communicator& world) {
  if (arguments.quiet && world.is_root()) std::cerr << results << std::endl;
}

}  // namespace multicard
