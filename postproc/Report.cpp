#include "postproc/Report.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/BuildInfo.hpp"
#include "base/Error.hpp"
#include "base/Log.hpp"
#include "io/AtomicFile.hpp"
#include "postproc/Figures.hpp"
#include "postproc/Page.hpp"
#include "postproc/Tables.hpp"

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

}  // namespace

std::string write_report(const Study& study, const std::string& folder, const Gnuplot& gnuplot) {
  const std::filesystem::path to(folder);
  PageNotes notes;
  notes.made_by = "multicard-post " + build_info().version;
  std::vector<Figure> figures;
  if (gnuplot.available()) {
    figures = plan_figures(study);
    draw(gnuplot, figures);
  } else {
    notes.warning =
        "This report has no figures: gnuplot was not found. Install it (package gnuplot-nox) and run "
        "multicard-post again.";
    log_warning(notes.warning);
  }
  for (const Figure& figure : figures)
    write_text(to / (figure.id + ".svg"), figure.svg);
  write_text(to / "runs.csv", runs_csv(study));
  write_text(to / "summary.json", summary_json(study));
  write_text(to / "report.html", report_page(study, figures, notes));
  return (to / "report.html").string();
}

}  // namespace multicard::post
