#pragma once
/// \file The figures of a study.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "findings/Finding.hpp"
#include "postproc/draw/Canvas.hpp"
#include "postproc/draw/ChartData.hpp"
#include "postproc/draw/Gnuplot.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

/// Where in the report a figure stands.
enum class Section { study, phases, memory, ranks, learning };

struct Figure {
  std::string id;  ///< file name without .svg
  Section section = Section::study;
  std::string heading;   ///< shared by consecutive figures; may be empty
  std::string title;     ///< a finding computed from the data
  Evidence evidence;     ///< that the title states
  std::string subtitle;  ///< what was measured
  std::string caption;   ///< one or two sentences computed from the data
  ChartData data;        ///< what is drawn
  Drawing drawing;
  std::string svg;          ///< after draw()
  std::string svg_on_page;  ///< without title and subtitle, which the page has as text
  std::string pdf;          ///< after draw() with Formats::svg_and_pdf, else empty
};

/// The figure of a chart under `title`.
template <class Chart>
Figure figure_of(const std::string& id, Section section, const Finding& title, Chart chart, const std::string& caption,
                 const std::string& heading = {}) {
  chart.title = title.text;
  return {id, section, heading, title.text, title.evidence, chart.subtitle, caption, chart.data(), chart.drawing(),
          {}, {},      {}};
}

/// Two axes of a heat map: across and down. An axis is named by its deck path, its last component, or "ranks".
using HeatAxes = std::pair<std::string, std::string>;

/// All figures that the data support, not yet drawn; with the ids of its study before theirs. The heat map is of `heat`
/// where the study has both axes, else of its two axes with the most values.
std::vector<Figure> plan_figures(const Study& study, const std::optional<HeatAxes>& heat = std::nullopt);

enum class Formats { svg, svg_and_pdf };

/// Fills in the SVGs and PDFs. Throws EnvironmentError when gnuplot fails.
void draw(const Gnuplot& gnuplot, std::vector<Figure>& figures, Formats formats = Formats::svg);

/// \name One kind each; used by plan_figures()
/// @{
void add_data_set_figures(const Study& study, std::vector<Figure>& figures);
void add_method_figures(const Study& study, std::vector<Figure>& figures);
void add_overview_figure(const Study& study, std::vector<Figure>& figures);
void add_scaling_figures(const Study& study, std::vector<Figure>& figures);
void add_model_figures(const Study& study, std::vector<Figure>& figures);
void add_size_figures(const Study& study, std::vector<Figure>& figures);
void add_option_figures(const Study& study, std::vector<Figure>& figures);
void add_heat_figures(const Study& study, const std::optional<HeatAxes>& heat, std::vector<Figure>& figures);
void add_comparison_figures(const Study& study, std::vector<Figure>& figures);
void add_share_figures(const Study& study, std::vector<Figure>& figures);
void add_phase_figures(const Study& study, std::vector<Figure>& figures);
void add_profile_figures(const Study& study, std::vector<Figure>& figures);
void add_memory_figures(const Study& study, std::vector<Figure>& figures);
void add_rank_figures(const Study& study, std::vector<Figure>& figures);
void add_allocation_figures(const Study& study, std::vector<Figure>& figures);
void add_learning_figures(const Study& study, std::vector<Figure>& figures);
void add_loss_scale_figures(const Study& study, std::vector<Figure>& figures);
/// @}

/// The heading of figures of whole configurations.
inline constexpr const char* kSideBySide = "Configurations side by side";
/// The heading of figures of models that predict other numbers of ranks.
inline constexpr const char* kPrediction = "Predicted for more ranks";
/// The heading of figures of single options.
inline constexpr const char* kOptionEffect = "Effect of each option";

/// The confusion matrix of a run with an evaluation; nothing where it has too many classes to be read.
void add_confusion_figure(const RunReport& run, const std::string& id, std::vector<Figure>& figures);

/// Whether `study` has an axis of this name (see HeatAxes).
bool has_axis(const Study& study, const std::string& name);

/// The indices of all configurations.
std::vector<std::size_t> all_configurations(const Study& study);

/// What all runs of `configurations` have in common, for a subtitle: "mobilenet_v2, fp32, batch 64, 224 px".
std::string common_settings(const Study& study, const std::vector<std::size_t>& configurations);

/// "3 repeats" or "1 to 3 repeats", of the complete cells.
std::string repeats_text(const std::vector<const Cell*>& cells);

/// How to read points of `cells`: "3 repeats, 95 % intervals, × failed or stopped".
std::string reading_aid(const Study& study, const std::vector<const Cell*>& cells);

/// Where the numbers of a cell are from, for a pointer: "run 0003, 30 steps", "3 repeats: runs 0000, 0001, 0002".
std::string origin_of(const Study& study, const Cell& cell);

/// "2 of 3 runs failed: the loss of step 2 is not finite", of a cell with runs that did not complete.
std::string unfinished_text(const Study& study, const Cell& cell);

/// Whether any run of the cell did not complete.
bool any_unfinished(const Study& study, const Cell& cell);

/// "phases", "phases-2", … for number 0, 1, …
std::string numbered(const std::string& id, int number);

/// The interval of an estimate, as charts take it.
std::optional<ErrorBar> error_bar(const Estimate& estimate);

/// `all` in as few pieces of at most `most` as possible, about equally long: 4 and 4 rather than 7 and 1.
template <class T>
std::vector<std::vector<T>> pieces(const std::vector<T>& all, std::size_t most) {
  const std::size_t number = (all.size() + most - 1) / most;
  std::vector<std::vector<T>> out(number);
  for (std::size_t i = 0; i < all.size(); ++i)
    out[i * number / all.size()].push_back(all[i]);
  return out;
}

}  // namespace multicard::post
