// multicard-post: results files to tables, figures and a report.

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/AnyError.hpp"
#include "base/BuildInfo.hpp"
#include "base/ErrorReport.hpp"
#include "base/Log.hpp"
#include "base/StandardOutput.hpp"
#include "base/Terminal.hpp"
#include "base/Text.hpp"
#include "cli/Complaint.hpp"
#include "cli/Completion.hpp"
#include "cli/HelpText.hpp"
#include "cli/ManPage.hpp"
#include "cli/WrongWords.hpp"
#include "comm/AbortOnSignal.hpp"
#include "comm/Signals.hpp"
#include "postproc/PublishedTexts.hpp"
#include "postproc/ReportCommand.hpp"
#include "postproc/reduce/ReadRuns.hpp"
#include "postproc/trace/ReadProfiles.hpp"
#include "postproc/trace/TraceReport.hpp"
#include "tasks/options/SettingKeys.hpp"

namespace multicard::post {
namespace {

constexpr std::size_t kMostRows = 1'000'000'000;  ///< that --top takes

/// Of traces and of the profile of a run.
struct ProfileOutputs {
  std::string folder;  ///< empty: nothing is written
  std::string csv;     ///< a table; empty: not given
  std::size_t most = 10;
  bool json = false, is_full = false;
};

void add_outputs(CLI::App& app, const std::string& kind, ProfileOutputs& outputs) {
  auto* folder = app.add_option("-o", outputs.folder,
                                fmt::format("Also write {0}.html, {0}.json and a CSV file for each table", kind))
                     ->type_name("DIR");
  auto* csv = app.add_option("--csv", outputs.csv, "Print one table to standard output")
                  ->type_name("TABLE")
                  ->check(CLI::IsMember(profile_table_names()))
                  ->excludes(folder);
  app.add_flag("--json", outputs.json, "Print all tables to standard output")->excludes(csv)->excludes(folder);
  app.add_option("--top", outputs.most, "Rows of each rank in long tables of the terminal (default 10)")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, kMostRows));
  app.add_flag("--full-provenance", outputs.is_full, kFullProvenance);
}

void write(ProfileSet set, const ProfileOutputs& outputs) {
  filter(set, filter_of(outputs.is_full));
  for (const std::string& notice : set.notices)
    log_warning(notice);
  if (!outputs.csv.empty()) return print(profile_csv(set, outputs.csv));
  if (outputs.json) return print(profile_json(set));
  print(profile_text(set, outputs.most, output_columns()));
  if (!outputs.folder.empty()) print(fmt::format("report  {}\n", write_profile_report(set, outputs.folder)));
}

void run(const ReportArguments& options) {
  run(options, known_setting_keys());
}

struct TraceOptions {
  std::vector<std::string> files;
  ProfileOutputs outputs;
};

void run(const TraceOptions& options) {
  write(read_traces(options.files), options.outputs);
}

void describe(CLI::App& app, TraceOptions& options) {
  app.name("multicard-post trace");
  app.description(
      "Tables of calls, kernels, copies, operators and GPU time from traces of PyTorch's profiler (Kineto).");
  app.footer("$ multicard-post trace rank0.json rank1.json.gz -o tables");
  app.add_option("TRACE.json", options.files, "Traces, plain or gzipped, one for each rank")->required();
  add_outputs(app, "trace", options.outputs);
}

struct ProfileOptions {
  std::string file;
  std::string run;  ///< empty: the only one with a profile
  std::vector<std::string> ranks;
  ProfileOutputs outputs;
};

void run(const ProfileOptions& options) {
  write(read_run_profile(results_paths({options.file}).front(), options.run, rank_choice(options.ranks)),
        options.outputs);
}

void describe(CLI::App& app, ProfileOptions& options) {
  app.name("multicard-post profile");
  app.description("Tables of what the profile windows of a run have recorded (profile.enabled=true).");
  app.footer("$ multicard-post profile results/tiny/results.h5 --csv kernels");
  app.add_option("RESULTS.h5", options.file, "A results file, or a folder with one")->required();
  app.add_option("--run", options.run, "The run, where several have a profile")->type_name("NAME");
  app.add_option(
         "--rank", options.ranks,
         "Only this rank; may be given several times. 'all': each. By default each of up to 8 ranks, and of more "
         "their sum")
      ->type_name("N")
      ->allow_extra_args(false);
  add_outputs(app, "profile", options.outputs);
}

/// The program with its commands, of which each has a parser of its own.
CommandHelp described_program() {
  ReportArguments options;
  ProfileOptions profile;
  TraceOptions trace;
  CLI::App app, profile_app, trace_app;
  describe(app, options);
  describe(profile_app, profile);
  describe(trace_app, trace);
  CommandHelp program = described(app);
  program.commands = {described(profile_app), described(trace_app)};
  return program;
}

/// `multicard-post help [COMMAND]`, and what is installed next to the program: manual pages and completion.
int help(const std::vector<std::string>& words) {
  const CommandHelp program = described_program();
  const std::string word = words.empty() ? "" : words[0], value = words.size() == 2 ? words[1] : "";
  if (word == "--man" && !value.empty()) {
    write_pages(man_pages(program, {"multicard(1)"}), "multicard " + build_info().version, value);
  } else if (word == "--completion" && shell_named(value)) {
    print(completion_script(*shell_named(value), program, {}));
  } else {
    const auto is_meant = [&](const CommandHelp* one) { return one->name() == (word.empty() ? program.path : word); };
    const std::vector<const CommandHelp*> all = all_commands(program);
    const auto found = std::find_if(all.begin(), all.end(), is_meant);
    if (found == all.end() || words.size() > 1)
      throw UsageError(fmt::format("'multicard-post help' does not know '{}'", join(words, " ")),
                       "it knows profile, trace, --man FOLDER, and --completion bash, zsh or fish",
                       "Example: multicard-post help profile");
    print(wrapped_help(help_text(**found), kHelpColumn));
  }
  return static_cast<int>(ExitCode::complete);
}

/// The exit code when there is nothing to do: --help or --version. \throws UsageError for a wrong command line
std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  app.set_version_flag("-V,--version", "multicard-post " + build_info().version, "Print the version");
  std::vector<std::string> words(argv + 1, argv + argc);
  try {
    check_words(app, words);
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    return help(split(app.get_name(), ' ').size() == 1 ? std::vector<std::string>{}
                                                       : std::vector{split(app.get_name(), ' ').back()});
  } catch (const CLI::CallForVersion&) {
    print("multicard-post " + build_info().version + "\n");
    return 0;
  } catch (const CLI::ParseError& error) {
    throw usage_error(app, error);
  }
  return std::nullopt;
}

template <class AnyOptions>
int parse_and_run(int argc, char** argv) {
  AnyOptions options;
  CLI::App app;
  describe(app, options);
  if (const std::optional<int> code = parse(app, argc, argv)) return *code;
  hold_signals();
  start_signal_thread();
  const AbortOnSignal guard;  // removes what is half-written
  run(options);
  return static_cast<int>(ExitCode::complete);
}

}  // namespace
}  // namespace multicard::post

int main(int argc, char** argv) {
  using namespace multicard;
  try {
    const std::string_view command = argc > 1 ? argv[1] : "";
    if (command == "trace") return post::parse_and_run<post::TraceOptions>(argc - 1, argv + 1);
    if (command == "profile") return post::parse_and_run<post::ProfileOptions>(argc - 1, argv + 1);
    if (command == "help") return post::help({argv + 2, argv + argc});
    return post::parse_and_run<post::ReportArguments>(argc, argv);
  } catch (const std::exception& error) {
    const Error found = as_error(error);
    log_error(error_report(found));
    return static_cast<int>(found.code());
  }
}
