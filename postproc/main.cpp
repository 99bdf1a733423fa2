// multicard-post: results files to tables, figures and a report.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/AnyError.hpp"
#include "base/BuildInfo.hpp"
#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Shown.hpp"
#include "base/StandardOutput.hpp"
#include "base/Terminal.hpp"
#include "base/Text.hpp"
#include "comm/AbortOnSignal.hpp"
#include "comm/Signals.hpp"
#include "postproc/figures/PlanFigures.hpp"
#include "postproc/page/ComparisonReport.hpp"
#include "postproc/page/Json.hpp"
#include "postproc/page/Page.hpp"
#include "postproc/page/PagePlan.hpp"
#include "postproc/page/Report.hpp"
#include "postproc/page/Tables.hpp"
#include "postproc/reduce/ReadPlan.hpp"
#include "postproc/reduce/ReadRuns.hpp"
#include "postproc/study/Collection.hpp"
#include "postproc/study/PlanAnswer.hpp"
#include "postproc/trace/TraceReport.hpp"
#include "tasks/options/SettingKeys.hpp"

namespace multicard::post {
namespace {

constexpr std::size_t kHelpColumn = 30;  ///< where the descriptions of options begin

struct Options {
  std::vector<std::string> files;
  std::string folder;
  std::string heat;    ///< two axes with a comma between them; empty: not given
  std::string counts;  ///< file of counted methods; empty: none
  std::string csv;     ///< runs, cells or options; empty: not given
  bool json = false, pdf = false, compare = false;
  bool is_full = false;             ///< nothing is filtered
  std::vector<std::string> others;  ///< to compare with `files`; empty: `files` are the two
};

HeatAxes heat_axes(const std::string& text) {
  const std::vector<std::string> names = split(text, ',');
  if (names.size() != 2 || names[0].empty() || names[1].empty())
    throw UsageError(fmt::format("--heat {}: expected two axes with a comma between them", text), "",
                     "For example --heat image_size,precision.");
  return {names[0], names[1]};
}

/// A plan or a replay, as `multicard plan --json` printed it.
void run_plan(const Options& options) {
  if (options.files.size() > 1 || !options.csv.empty() || !options.heat.empty() || !options.counts.empty())
    throw UsageError("--csv, --heat, --counts and further files are for results files",
                     options.files.front() + " is a plan or a replay", "Give it alone, with -o, --json or --pdf.");
  const PlanFile file = read_plan_file(options.files.front());
  if (options.json) return print(plan_summary_json(file, figures_of(file)));
  const std::string folder = options.folder.empty() ? default_folder(file.path) : options.folder;
  const std::string report =
      write_plan_report(file, folder, Gnuplot(), options.pdf ? Formats::svg_and_pdf : Formats::svg);
  print(fmt::format("{}\nreport  {}\n", plan_finding(file).text, report));
}

constexpr const char* kFullProvenance =
    "Publish addresses, home folders and secrets too, which are filtered from texts of the results file";

ProvenanceFilter filter_of(bool is_full) {
  return ProvenanceFilter(is_full ? Privacy::full : Privacy::filtered);
}

/// Which files are A and which are B.
std::pair<std::vector<std::string>, std::vector<std::string>> compared_files(const Options& options) {
  if (!options.files.empty() && !options.others.empty()) return {options.files, options.others};
  const std::vector<std::string>& both = options.others.empty() ? options.files : options.others;
  if (both.size() != 2)
    throw UsageError(fmt::format("--compare takes two results, not {}", both.size()),
                     "with several files of each, those of B follow --compare",
                     "For example: multicard-post before/results.h5 after/results.h5 --compare");
  return {{both.front()}, {both.back()}};
}

void compare(const Options& options) {
  const auto [files_a, files_b] = compared_files(options);
  ProvenanceFilter filter = filter_of(options.is_full);  // of both, so that one home folder has one name
  const Collection a = read_results(results_paths(files_a), known_setting_keys(), filter),
                   b = read_results(results_paths(files_b), known_setting_keys(), filter);
  for (const Collection* side : {&a, &b})
    for (const std::string& notice : side->notices)
      log_warning(notice);
  const ComparedResults results{a, b, compare(a, b)};
  if (options.json) return print(comparison_json(results));
  print(comparison_text(results, output_columns()));
  if (!options.folder.empty()) print(fmt::format("report  {}\n", write_comparison(results, options.folder)));
}

void run(const Options& given) {
  if (given.compare) return compare(given);
  if (std::ranges::any_of(given.files, is_plan_file)) return run_plan(given);
  Options options = given;
  options.files = results_paths(given.files);
  ProvenanceFilter filter = filter_of(options.is_full);
  Collection collection = read_results(options.files, known_setting_keys(), filter);
  if (!options.counts.empty()) collection.counted = read_counted_methods(options.counts);
  for (const std::string& notice : collection.notices)
    log_warning(notice);
  if (options.csv == "runs") return print(runs_csv(collection));
  if (options.csv == "cells") return print(cells_csv(collection));
  if (options.csv == "options") return print(options_csv(collection));
  if (options.json) return print(summary_json(collection, plan_figures(collection)));
  const std::string folder = options.folder.empty() ? default_folder(options.files.front()) : options.folder;
  ReportOptions report_options;
  if (!options.heat.empty()) report_options.heat = heat_axes(options.heat);
  if (options.pdf) report_options.formats = Formats::svg_and_pdf;
  const std::string report = write_report(collection, folder, Gnuplot(), report_options);
  print(fmt::format("{}report  {}\n", terminal_table(collection, output_columns()), report));
}

/// The exit code when there is nothing to do: a wrong command line, or --help.
std::optional<int> parse(CLI::App& app, int argc, char** argv) {
  app.get_formatter()->column_width(kHelpColumn);
  app.set_version_flag("-V,--version", "multicard-post " + build_info().version);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, complaint;
    const int code = app.exit(error, out, complaint);
    std::fputs(shown(complaint.str()).c_str(), stderr);
    print(wrapped_help(out.str(), kHelpColumn));
    return code == 0 ? 0 : static_cast<int>(ExitCode::usage);
  }
  return std::nullopt;
}

/// Fills `options`, or returns the exit code when there is nothing to do.
std::optional<int> parse(int argc, char** argv, Options& options) {
  CLI::App app("Tables, figures (SVG) and report.html from results files of multicard.", "multicard-post");
  app.footer(
      "multicard-post profile --help: tables of a run's profile.\n"
      "multicard-post trace --help: tables from traces of PyTorch's profiler.");
  auto* files = app.add_option("RESULTS.h5", options.files,
                               "Results files, or folders that hold a results.h5; runs of one configuration are "
                               "grouped. Or one file with what multicard plan --json, or a replay, printed");
  app.add_option(
         "-o", options.folder,
         "Output folder (default: that of the first file; if it is not named results.h5, NAME_report inside it)")
      ->type_name("DIR");
  auto* csv =
      app.add_flag("--csv{runs}", options.csv,
                   "Print one line per run to standard output, write nothing; --csv=cells: one per configuration "
                   "and number of ranks; --csv=options: the effect of each option")
          ->check(CLI::IsMember({"runs", "cells", "options"}));
  app.add_flag("--json", options.json, "Print the summary to standard output, write nothing")->excludes(csv);
  auto* compare = app.add_option("--compare", options.others,
                                 "Say what changed between two results, A B, or A... --compare B...; with -o also "
                                 "write comparison.html and comparison.json")
                      ->type_name("B.h5")
                      ->expected(0, -1)
                      ->excludes(csv);
  auto* heat =
      app.add_option("--heat", options.heat, "The two axes of the heat map, across and down, e.g. image_size,precision")
          ->type_name("AXIS,AXIS");
  auto* counts = app.add_option("--counts", options.counts,
                                "Add the table of what bench/method_counts.sh counted on a simulated GPU")
                     ->type_name("FILE");
  auto* pdf = app.add_flag("--pdf", options.pdf, "Write every figure as PDF too");
  app.add_flag("--full-provenance", options.is_full, kFullProvenance);
  for (CLI::Option* of_reports : {heat, counts, pdf})
    compare->excludes(of_reports);
  if (const std::optional<int> code = parse(app, argc, argv)) return code;
  options.compare = compare->count() > 0;
  std::erase(options.others, "");  // what CLI11 has for an option without a value
  if (files->count() == 0 && options.others.empty())
    throw UsageError("no results file is named", "", "For example: multicard-post results/results.h5");
  return std::nullopt;
}

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
  auto* csv =
      app.add_option("--csv", outputs.csv, "Print one table to standard output: " + join(profile_table_names(), ", "))
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

struct TraceOptions {
  std::vector<std::string> files;
  ProfileOutputs outputs;
};

void run(const TraceOptions& options) {
  write(read_traces(options.files), options.outputs);
}

std::optional<int> parse(int argc, char** argv, TraceOptions& options) {
  CLI::App app("Tables of calls, kernels, copies, operators and GPU time from traces of PyTorch's profiler (Kineto).",
               "multicard-post trace");
  app.add_option("TRACE.json", options.files, "Traces, plain or gzipped, one for each rank")->required();
  add_outputs(app, "trace", options.outputs);
  return parse(app, argc, argv);
}

struct ProfileOptions {
  std::string file;
  std::string run;  ///< empty: the only one with a profile
  ProfileOutputs outputs;
};

void run(const ProfileOptions& options) {
  write(read_run_profile(options.file, options.run), options.outputs);
}

std::optional<int> parse(int argc, char** argv, ProfileOptions& options) {
  CLI::App app("Tables of what the profile windows of a run have recorded (profile.enabled=true).",
               "multicard-post profile");
  app.add_option("RESULTS.h5", options.file, "A results file")->required();
  app.add_option("--run", options.run, "The run, where several have a profile")->type_name("NAME");
  add_outputs(app, "profile", options.outputs);
  return parse(app, argc, argv);
}

template <class AnyOptions>
int parse_and_run(int argc, char** argv) {
  AnyOptions options;
  if (const std::optional<int> code = parse(argc, argv, options)) return *code;
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
    return post::parse_and_run<post::Options>(argc, argv);
  } catch (const std::exception& error) {
    const Error found = as_error(error);
    log_error(found.what());
    return static_cast<int>(found.code());
  }
}
