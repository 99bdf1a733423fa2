#include "postproc/ReportCommand.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/StandardOutput.hpp"
#include "base/Terminal.hpp"
#include "base/Text.hpp"
#include "postproc/PublishedTexts.hpp"
#include "postproc/figures/ClaimFigures.hpp"
#include "postproc/figures/PlanFigures.hpp"
#include "postproc/page/ComparisonReport.hpp"
#include "postproc/page/Json.hpp"
#include "postproc/page/Page.hpp"
#include "postproc/page/PageClaim.hpp"
#include "postproc/page/PagePlan.hpp"
#include "postproc/page/Report.hpp"
#include "postproc/page/Tables.hpp"
#include "postproc/reduce/ReadClaim.hpp"
#include "postproc/reduce/ReadPlan.hpp"
#include "postproc/reduce/ReadRuns.hpp"
#include "postproc/study/ClaimAnswer.hpp"
#include "postproc/study/Collection.hpp"
#include "postproc/study/PlanAnswer.hpp"

namespace multicard::post {

namespace {

HeatAxes heat_axes(const std::string& text) {
  const std::vector<std::string> names = split(text, ',');
  if (names.size() != 2 || names[0].empty() || names[1].empty())
    throw UsageError(fmt::format("--heat {}: expected two axes with a comma between them", text), "",
                     "For example --heat image_size,precision.");
  return {names[0], names[1]};
}

/// A file that is not a results file and has a page of its own. \param what it is, for the message
template <class File>
void run_page(const ReportArguments& options, const char* what, File (*read)(const std::string&),
              std::string (*summary)(const File&, const std::vector<Figure>&),
              std::string (*write)(const File&, const std::string&, const Gnuplot&, Formats),
              const std::function<std::string(const File&)>& answer) {
  if (options.files.size() > 1 || !options.csv.empty() || !options.heat.empty() || !options.counts.empty())
    throw UsageError("--csv, --heat, --counts and further files are for results files",
                     fmt::format("{} is {}", options.files.front(), what), "Give it alone, with -o, --json or --pdf.");
  File file = read(options.files.front());
  if (options.json) return print(summary(file, figures_of(file)));
  const std::string folder = options.folder.empty() ? default_folder(file.path) : options.folder;
  file.path = filter_of(options.is_full).filtered(file.path);
  const std::string report = write(file, folder, Gnuplot(), options.pdf ? Formats::svg_and_pdf : Formats::svg);
  print(fmt::format("{}\nreport  {}\n", answer(file), report));
}

/// As `multicard plan --json` printed it.
void run_plan(const ReportArguments& options) {
  run_page<PlanFile>(options, "a plan or a replay", read_plan_file, plan_summary_json, write_plan_report,
                     [](const PlanFile& file) { return plan_finding(file).text; });
}

/// The cells, as scripts/study_claim.sh wrote them.
void run_claim(const ReportArguments& options) {
  run_page<ClaimFile>(options, "a study of a claim", read_claim_file, claim_summary_json, write_claim_report,
                      [](const ClaimFile& file) { return claim_headline(file).sentence(); });
}

/// Which files are A and which are B.
std::pair<std::vector<std::string>, std::vector<std::string>> compared_files(const ReportArguments& options) {
  if (!options.files.empty() && !options.others.empty()) return {options.files, options.others};
  const std::vector<std::string>& both = options.others.empty() ? options.files : options.others;
  if (both.size() != 2)
    throw UsageError(fmt::format("--compare takes two results, not {}", both.size()),
                     "with several files of each, those of B follow --compare",
                     "For example: multicard-post before/results.h5 after/results.h5 --compare");
  return {{both.front()}, {both.back()}};
}

void compare(const ReportArguments& options, const std::vector<SettingKey>& keys) {
  const auto [files_a, files_b] = compared_files(options);
  ProvenanceFilter filter = filter_of(options.is_full);  // of both, so that one home folder has one name
  const Collection a = read_results(results_paths(files_a), keys, filter),
                   b = read_results(results_paths(files_b), keys, filter);
  for (const Collection* side : {&a, &b})
    for (const std::string& notice : side->notices)
      log_warning(notice);
  const ComparedResults results{a, b, compare(a, b)};
  if (options.json) return print(comparison_json(results));
  print(comparison_text(results, output_columns()));
  if (!options.folder.empty()) print(fmt::format("report  {}\n", write_comparison(results, options.folder, Gnuplot())));
}

}  // namespace

void describe(CLI::App& app, ReportArguments& options) {
  app.name("multicard-post");
  app.description("Tables, figures (SVG) and report.html from results files of multicard.");
  app.footer(
      "$ multicard-post results/tiny/results.h5\n"
      "$ multicard-post results/first results/second -o report\n"
      "$ multicard-post results/before results/after --compare\n"
      "$ multicard-post results/tiny --csv=cells\n"
      "multicard-post help COMMAND describes a command.");
  auto* files = app.add_option("RESULTS.h5", options.files,
                               "Results files, or folders that hold a results.h5; runs of one configuration are "
                               "grouped. Or one file with what multicard plan --json, or a replay, printed, "
                               "or with what scripts/study_claim.sh measured");
  auto* folder = app.add_option("-o", options.folder,
                                "Output folder (default: that of the first file; if it is not named results.h5, "
                                "NAME_report inside it)")
                     ->type_name("DIR");
  auto* csv =
      app.add_flag("--csv{runs}", options.csv,
                   "Print one line per run to standard output, write nothing; --csv=cells: one per configuration "
                   "and number of ranks; --csv=options: the effect of each option")
          ->check(CLI::IsMember({"runs", "cells", "options"}))
          ->excludes(folder);
  app.add_flag("--json", options.json, "Print the summary to standard output, write nothing")
      ->excludes(csv)
      ->excludes(folder);
  auto* compare = app.add_option("--compare", options.others,
                                 "Say what changed between two results, A B, or A... --compare B...; with -o also "
                                 "write comparison.html, its figures and comparison.json")
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
  app.callback([&options, files, compare] {
    options.compare = compare->count() > 0;
    std::erase(options.others, "");  // what CLI11 has for an option without a value
    if (files->count() == 0 && options.others.empty())
      throw UsageError("'multicard-post' needs RESULTS.h5", "",
                       "multicard-post help says more. Example: multicard-post results/tiny/results.h5");
  });
}

void run(const ReportArguments& given, const std::vector<SettingKey>& keys) {
  if (given.compare) return compare(given, keys);
  if (std::ranges::any_of(given.files, is_claim_file)) return run_claim(given);
  if (std::ranges::any_of(given.files, is_plan_file)) return run_plan(given);
  ReportArguments options = given;
  options.files = results_paths(given.files);
  ProvenanceFilter filter = filter_of(options.is_full);
  Collection collection = read_results(options.files, keys, filter);
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

}  // namespace multicard::post
