#include "postproc/page/Report.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "base/BuildInfo.hpp"
#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/page/Json.hpp"
#include "postproc/page/Page.hpp"
#include "postproc/page/PageFiles.hpp"
#include "postproc/page/StudyColumns.hpp"
#include "postproc/page/Tables.hpp"

namespace multicard::post {

namespace {

/// Checked before anything is written: axes with a typing error would give a report without the map.
void check_heat(const Collection& collection, const HeatAxes& heat) {
  const auto has_both = [&](const Study& study) {
    return heat.first != heat.second && has_axis(study, heat.first) && has_axis(study, heat.second);
  };
  if (std::ranges::any_of(collection.studies, has_both)) return;
  std::vector<std::string> known = axis_keys(collection);
  known.insert(known.begin(), "ranks");
  throw UsageError(fmt::format("--heat {},{}: no study has these two axes", heat.first, heat.second),
                   "known are " + join(known, ", "), "Name two of one study.");
}

}  // namespace

std::string default_folder(const std::string& file) {
  const std::filesystem::path path(file);
  const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : ".";
  return (path.filename() == "results.h5" ? parent : parent / (path.stem().string() + "_report")).string();
}

std::string write_report(const Collection& collection, const std::string& folder, const Gnuplot& gnuplot,
                         const ReportOptions& options) {
  if (options.heat) check_heat(collection, *options.heat);
  const std::filesystem::path to(folder);
  PageNotes notes{"multicard-post " + build_info().version, collection.notices};
  std::vector<PageFile> pages;
  PageFigures figures = plan_figures(collection, options.heat);
  if (gnuplot.available()) {
    for (auto* lists : {&figures.of_studies, &figures.of_evaluations})
      for (std::vector<Figure>& list : *lists) {
        draw(gnuplot, list, options.formats);
        add_figures(pages, list);
      }
  } else {
    notes.warnings.emplace_back(
        "This report has no figures: gnuplot was not found. Install it (package gnuplot-nox) and run "
        "multicard-post again.");
    log_warning(notes.warnings.back());
  }
  if (!collection.studies.empty()) {
    pages.push_back({"runs.csv", runs_csv(collection)});
    pages.push_back({"cells.csv", cells_csv(collection)});
    pages.push_back({"options.csv", options_csv(collection)});
  }
  pages.push_back({"summary.json", summary_json(collection, figures)});
  // Last, and built from the same figures: the page embeds the SVGs that have been drawn.
  pages.push_back({"report.html", report_page(collection, figures, notes)});
  write_pages(to, pages);
  return (to / "report.html").string();
}

}  // namespace multicard::post
