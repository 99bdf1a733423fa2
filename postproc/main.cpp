// multicard-post: results files to tables, figures and a report.

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/BuildInfo.hpp"
#include "base/Error.hpp"
#include "base/Log.hpp"
#include "postproc/ReadStudy.hpp"
#include "postproc/Report.hpp"
#include "postproc/Tables.hpp"

namespace multicard::post {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string folder;
  bool csv = false, json = false;
};

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw DataError("cannot write to standard output");
}

void run(const Options& options) {
  const Study study = read_study(options.files);
  if (options.csv) return print(runs_csv(study));
  if (options.json) return print(summary_json(study));
  const std::string beside = std::filesystem::path(options.files.front()).parent_path().string();
  const std::string folder = options.folder.empty() ? (beside.empty() ? "." : beside) : options.folder;
  const std::string report = write_report(study, folder, Gnuplot());
  print(fmt::format("{}report  {}\n", terminal_table(study), report));
}

/// Fills `options`, or returns the exit code when there is nothing to do.
std::optional<int> parse(int argc, char** argv, Options& options) {
  CLI::App app("Tables, figures (SVG) and report.html from results files of multicard.", "multicard-post");
  app.add_option("RESULTS.h5", options.files, "results files; runs of one configuration are put together")->required();
  app.add_option("-o", options.folder, "folder for what is written (default: beside the first file)")->type_name("DIR");
  auto* csv = app.add_flag("--csv", options.csv, "print one line a run to standard output, write nothing");
  app.add_flag("--json", options.json, "print the summary to standard output, write nothing")->excludes(csv);
  app.set_version_flag("--version", "multicard-post " + build_info().version);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::usage);
  }
  return std::nullopt;
}

}  // namespace
}  // namespace multicard::post

int main(int argc, char** argv) {
  using namespace multicard;
  post::Options options;
  if (const std::optional<int> code = post::parse(argc, argv, options)) return *code;
  try {
    post::run(options);
    return static_cast<int>(ExitCode::complete);
  } catch (const Error& error) {
    log_error(error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    log_error(fmt::format("unexpected error ({}) This is a defect: report it.", error.what()));
    return static_cast<int>(ExitCode::defect);
  }
}
