#include "Runs.hpp"

#include <iostream>

#include <fmt/format.h>

#include "base/BuildInfo.hpp"
#include "base/Log.hpp"
#include "base/Quantiles.hpp"
#include "base/ShellWord.hpp"
#include "base/Text.hpp"
#include "device/Gpu.hpp"
#include "results/MeasuredSteps.hpp"
#include "tasks/options/SettingKeys.hpp"

namespace multicard {

Provenance full_provenance(const Communicator& world, const std::string& command_line) {
  Provenance provenance = collect_provenance(world, command_line);
  const GpuSoftware software = gpu_software();
  provenance.driver = software.driver;
  provenance.cuda = software.cuda_runtime;
  provenance.nccl = software.nccl;
  // A rank may see several GPUs, and another than the one it computes on.
  std::string mine;
  for (const GpuInfo& gpu : visible_gpus())
    mine += fmt::format("{}{} {}", mine.empty() ? "" : "; ", gpu.name, gpu.bus_id);
  provenance.gpus = world.allgather(mine);
  provenance.keys = known_setting_keys();
  return provenance;
}

std::vector<std::string> rate_texts(const RunResult& result, const Communicator& communicator) {
  const MeasuredSteps steps = measure_steps(result.summary, result.rows, communicator);
  if (steps.seconds.empty()) return {"no steps"};
  const std::string rate = fmt::format("{} {}/s", significant(median(steps.rates), 4), result.unit.abbreviation);
  const std::string with_time = fmt::format("{}, {} ms per step", rate, significant(1e3 * median(steps.seconds), 4));
  return {fmt::format("{} (data {} %, reduce {} %)", with_time, significant(steps.percent(Phase::data_wait), 2),
                      significant(steps.percent(Phase::reduce_wait), 2)),
          with_time, rate};
}

void log_heading(const std::string& command, const std::string& deck) {
  const BuildInfo build = build_info();
  log_info(fmt::format("multicard {} ({})  {}  {}", build.version, build.git, command, deck));
}

void log_finished(const std::string& results, const std::string& what) {
  log_info(fmt::format("{} holds this {}, finished. Set run.resume=never to run it again.", results, what));
}

void mark_smoke(RunSummary& summary) {
  summary.integers["quick"] = 1;
  summary.integers["smoke"] = 1;
}

void log_results(const std::string& results) {
  log_info(fmt::format("{:<10}{}", "results", results));
  log_info(fmt::format("{:<10}multicard-post {}", "report", shell_word(results)));
}

void print_if_quiet(const std::string& results, const DeckArguments& arguments, const Communicator& world) {
  if (arguments.quiet && world.is_root()) std::cerr << results << std::endl;
}

}  // namespace multicard
