#pragma once
/// \file The figures of a study.

#include <string>
#include <vector>

#include "postproc/Canvas.hpp"
#include "postproc/Gnuplot.hpp"
#include "postproc/Study.hpp"

namespace multicard::post {

/// Where in the report a figure stands.
enum class Section { study, phases, memory, ranks, learning };

struct Figure {
  std::string id;  ///< file name without .svg
  Section section = Section::study;
  std::string title;     ///< a statement computed from the data
  std::string subtitle;  ///< of what
  std::string caption;   ///< one or two sentences computed from the data
  Drawing drawing;
  std::string svg;          ///< after draw()
  std::string svg_on_page;  ///< without title and subtitle, which the page has as text
};

template <class Chart>
Figure figure_of(const std::string& id, Section section, const Chart& chart, const std::string& caption) {
  return {id, section, chart.title, chart.subtitle, caption, chart.drawing(), {}, {}};
}

/// All figures that the data support, not yet drawn.
std::vector<Figure> plan_figures(const Study& study);

/// Fills in the SVGs of each. Throws EnvironmentError when gnuplot fails.
void draw(const Gnuplot& gnuplot, std::vector<Figure>& figures);

/// \name One kind each; used by plan_figures()
/// @{
void add_overview_figure(const Study& study, std::vector<Figure>& figures);
void add_scaling_figures(const Study& study, std::vector<Figure>& figures);
void add_comparison_figures(const Study& study, std::vector<Figure>& figures);
void add_phase_figures(const Study& study, std::vector<Figure>& figures);
void add_memory_figures(const Study& study, std::vector<Figure>& figures);
void add_rank_figures(const Study& study, std::vector<Figure>& figures);
void add_learning_figures(const Study& study, std::vector<Figure>& figures);
/// @}

/// What all runs of `configurations` have in common, for a subtitle: "mobilenet_v2, fp32, batch 64, 224 px".
std::string common_settings(const Study& study, const std::vector<std::size_t>& configurations);

/// "3 repeats" or "1 to 3 repeats", of the complete cells.
std::string repeats_text(const std::vector<const Cell*>& cells);

/// `configurations` in pieces of at most `most`.
std::vector<std::vector<std::size_t>> pieces(const std::vector<std::size_t>& configurations, std::size_t most);

}  // namespace multicard::post
