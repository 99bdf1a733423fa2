#include "postproc/page/Report.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fmt/format.h>

#include "base/BuildInfo.hpp"
#include "base/Error.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "io/AtomicFile.hpp"
#include "io/OwnFiles.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/page/Json.hpp"
#include "postproc/page/Page.hpp"
#include "postproc/page/StudyColumns.hpp"
#include "postproc/page/Tables.hpp"

namespace multicard::post {

namespace {

/// Written under another name and renamed: a reader never sees half a file.
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

/// A file of the report.
struct Page {
  std::string name, text;
};

void add_figures(std::vector<Page>& pages, const std::vector<Figure>& figures) {
  for (const Figure& figure : figures) {
    pages.push_back({figure.id + ".svg", figure.svg});
    if (!figure.pdf.empty()) pages.push_back({figure.id + ".pdf", figure.pdf});
  }
}

/// The first names of a table's columns, which hold for every study.
std::string first_columns(const std::string& table) {
  const std::size_t second = table.find(',', table.find(',') + 1);
  return table.substr(0, second);
}

/// As a table without a line used to be.
bool is_blank(const std::string& path) {
  return is_plain_file(path) && std::filesystem::file_size(path) == 0;
}

/// Whether the file that stands there is one of an earlier report.
bool is_of_report(const std::filesystem::path& file, const Page& page) {
  const std::string path = file.string(), ending = file.extension().string();
  if (ending == ".csv") return content_says(path, first_columns(page.text), ",") || is_blank(path);
  if (ending == ".json") return content_says(path, "{", "\"multicard-summary\"");
  if (ending == ".html") return content_says(path, "<!DOCTYPE html>", "Report by multicard-post");
  if (ending == ".svg") return content_says(path, "<svg ", " aria-labelledby=\"" + file.stem().string() + "-title\"");
  // The producer in the metadata of PDFs: gnuplot, or the library that draws for it.
  return content_says(path, "%PDF", "gnuplot") || content_says(path, "%PDF", "cairo");
}

/// \throws UsageError before anything is written
void require_own(const std::filesystem::path& folder, const std::vector<Page>& pages) {
  for (const Page& page : pages) {
    const std::filesystem::path path = folder / page.name;
    if (!is_taken(path.string()) || !is_taken(end_of_links(path.string())) || is_of_report(path, page)) continue;
    throw UsageError(fmt::format("{} was not written by multicard-post", path.string()), "the report would replace it",
                     "Name another folder with -o, or move it away.");
  }
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
  std::vector<Page> pages;
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
  // All files are checked before the first is written, so that a refusal leaves the folder as it was.
  require_own(to, pages);
  for (const Page& page : pages)
    write_text(to / page.name, page.text);
  return (to / "report.html").string();
}

}  // namespace multicard::post
