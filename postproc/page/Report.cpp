#include "postproc/page/Report.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/BuildInfo.hpp"
#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "io/AtomicFile.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/page/Json.hpp"
#include "postproc/page/Page.hpp"
#include "postproc/page/Tables.hpp"

namespace multicard::post {

namespace {

void write_text(const std::filesystem::path& path, const std::string& text) {
  PendingFile file(path.string());
  std::ofstream stream(file.path(), std::ios::binary);
  stream << text;
  stream.close();
  if (!stream)
    throw DataError(fmt::format("cannot write '{}'", path.string()), system_error_text(errno),
                    "Choose another folder with -o.");
  file.commit();
}

void check_heat(const Collection& collection, const HeatAxes& heat) {
  const auto has_both = [&](const Study& study) {
    return heat.first != heat.second && has_axis(study, heat.first) && has_axis(study, heat.second);
  };
  if (std::any_of(collection.studies.begin(), collection.studies.end(), has_both)) return;
  std::vector<std::string> known{"ranks"};
  for (const Study& study : collection.studies)
    for (const Axis& axis : study.axes)
      if (std::find(known.begin(), known.end(), axis.key) == known.end()) known.push_back(axis.key);
  throw UsageError(fmt::format("--heat {},{}: no study has these two axes", heat.first, heat.second),
                   "known are " + join(known, ", "), "Name two of one study.");
}

void write_figures(const std::filesystem::path& to, const std::vector<Figure>& figures) {
  for (const Figure& figure : figures) {
    write_text(to / (figure.id + ".svg"), figure.svg);
    if (!figure.pdf.empty()) write_text(to / (figure.id + ".pdf"), figure.pdf);
  }
}

}  // namespace

std::string default_folder(const std::string& file) {
  const std::filesystem::path path(file);
  const std::filesystem::path beside = path.has_parent_path() ? path.parent_path() : ".";
  return (path.filename() == "results.h5" ? beside : beside / (path.stem().string() + "_report")).string();
}

std::string write_report(const Collection& collection, const std::string& folder, const Gnuplot& gnuplot,
                         const ReportOptions& options) {
  if (options.heat) check_heat(collection, *options.heat);
  const std::filesystem::path to(folder);
  PageNotes notes{"multicard-post " + build_info().version, collection.notices};
  PageFigures figures = plan_figures(collection, options.heat);
  if (gnuplot.available()) {
    for (auto* lists : {&figures.of_studies, &figures.of_evaluations})
      for (std::vector<Figure>& list : *lists) {
        draw(gnuplot, list, options.formats);
        write_figures(to, list);
      }
  } else {
    notes.warnings.emplace_back(
        "This report has no figures: gnuplot was not found. Install it (package gnuplot-nox) and run "
        "multicard-post again.");
    log_warning(notes.warnings.back());
  }
  if (!collection.studies.empty()) {
    write_text(to / "runs.csv", runs_csv(collection));
    write_text(to / "cells.csv", cells_csv(collection));
    write_text(to / "options.csv", options_csv(collection));
  }
  write_text(to / "summary.json", summary_json(collection, figures));
  write_text(to / "report.html", report_page(collection, figures, notes));
  return (to / "report.html").string();
}

}  // namespace multicard::post
