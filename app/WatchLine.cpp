#include "WatchLine.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "Commands.hpp"

namespace multicard {

void add_watch(CLI::App& app, Command& command) {
  auto arguments = std::make_shared<WatchArguments>();
  CLI::App* watch = app.add_subcommand("watch", "Show how runs, sweeps and shares stand while they work; needs no GPU");
  watch->add_option("outputs", arguments->outputs, "Output folders (run.output)")->required();
  watch->add_flag("--once", arguments->once, "Print how they stand now, then stop; exit code 4 where nothing is there");
  watch->add_flag("--json", arguments->json, "Print a line of JSON each time instead");
  watch->add_option("--interval", arguments->interval_s, "Seconds between two looks")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 86400.0));
  watch->callback([&command, arguments] { command.run_alone = [arguments] { return watch_command(*arguments); }; });
}

}  // namespace multicard
