#include "postproc/page/PageFiles.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Log.hpp"
#include "io/Bytes.hpp"
#include "io/OwnFiles.hpp"

namespace multicard::post {

namespace {

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
bool is_of_report(const std::filesystem::path& file, const PageFile& page) {
  const std::string path = file.string(), ending = file.extension().string();
  if (ending == ".csv") return content_says(path, first_columns(page.text), ",") || is_blank(path);
  if (ending == ".json") return content_says(path, "{", "\"multicard-" + file.stem().string() + "\"");
  if (ending == ".md") return content_says(path, kMarkdownStart, "");
  if (ending == ".html") return content_says(path, "<!DOCTYPE html>", "Report by multicard-post");
  if (ending == ".svg") return content_says(path, "<svg ", " aria-labelledby=\"" + file.stem().string() + "-title");
  // The producer in the metadata of PDFs: gnuplot, or the library that draws for it.
  return content_says(path, "%PDF", "gnuplot") || content_says(path, "%PDF", "cairo");
}

/// \throws UsageError before anything is written
void require_own(const std::filesystem::path& folder, const std::vector<PageFile>& pages) {
  for (const PageFile& page : pages) {
    const std::filesystem::path path = folder / page.name;
    if (!is_taken(path.string()) || !is_taken(end_of_links(path.string())) || is_of_report(path, page)) continue;
    throw UsageError(fmt::format("{} was not written by multicard-post", path.string()), "the report would replace it",
                     "Name another folder with -o, or move it away.");
  }
}

}  // namespace

void add_figures(std::vector<PageFile>& pages, const std::vector<Figure>& figures) {
  for (const Figure& figure : figures) {
    pages.push_back({figure.id + ".svg", figure.svg});
    if (!figure.pdf.empty()) pages.push_back({figure.id + ".pdf", figure.pdf});
  }
}

void draw_for_page(const Gnuplot& gnuplot, std::vector<Figure>& figures, Formats formats, std::vector<PageFile>& pages,
                   std::vector<std::string>& warnings) {
  if (gnuplot.available()) {
    draw(gnuplot, figures, formats);
    add_figures(pages, figures);
    return;
  }
  warnings.emplace_back("This report has no figures: gnuplot was not found.");
  log_warning(warnings.back());
}

void write_pages(const std::filesystem::path& folder, const std::vector<PageFile>& pages) {
  // All files are checked before the first is written, so that a refusal leaves the folder as it was.
  require_own(folder, pages);
  for (const PageFile& page : pages)
    write_file((folder / page.name).string(), page.text);
}

}  // namespace multicard::post
