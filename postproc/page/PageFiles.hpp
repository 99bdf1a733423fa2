#pragma once
/// \file The files of a report, in a folder that may hold other files.

#include <filesystem>
#include <string>
#include <vector>

#include "postproc/figures/Figures.hpp"

namespace multicard::post {

/// What a Markdown file of a report begins with, so that the next report knows it.
inline constexpr const char* kMarkdownStart = "<!-- written by multicard-post";

struct PageFile {
  std::string name, text;
};

/// Adds the drawn SVG and PDF of each figure.
void add_figures(std::vector<PageFile>& pages, const std::vector<Figure>& figures);

/// Draws the figures of a page and adds their files; without gnuplot a warning instead, which is logged as well.
void draw_for_page(const Gnuplot& gnuplot, std::vector<Figure>& figures, Formats formats, std::vector<PageFile>& pages,
                   std::vector<std::string>& warnings);

/// Writes the files, each so that a reader never sees half of it. They replace those of an earlier report.
/// \throws UsageError, before anything is written, where another file has one of the names
void write_pages(const std::filesystem::path& folder, const std::vector<PageFile>& pages);

}  // namespace multicard::post
