#include "postproc/Figures.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/Axes.hpp"
#include "postproc/Labels.hpp"
#include "postproc/Svg.hpp"

namespace multicard::post {

std::vector<Figure> plan_figures(const Study& study) {
  std::vector<Figure> figures;
  add_overview_figure(study, figures);
  add_scaling_figures(study, figures);
  add_comparison_figures(study, figures);
  add_learning_figures(study, figures);
  add_phase_figures(study, figures);
  add_memory_figures(study, figures);
  add_rank_figures(study, figures);
  return figures;
}

void draw(const Gnuplot& gnuplot, std::vector<Figure>& figures) {
  for (Figure& figure : figures) {
    figure.svg = themed(gnuplot.run(figure.drawing.script), figure.id, figure.title);
    figure.svg_on_page = without_head(figure.svg, figure.drawing.head_height);
  }
}

std::string common_settings(const Study& study, const std::vector<std::size_t>& configurations) {
  const Configuration& first = study.configurations[configurations.front()];
  const auto run = std::find_if(study.runs.begin(), study.runs.end(), [&](const RunReport& candidate) {
    return std::all_of(first.settings.begin(), first.settings.end(),
                       [&](const auto& entry) { return setting(candidate, entry.first) == entry.second; });
  });
  std::vector<std::string> parts;
  for (const char* key : {"model", "method", "strategy", "precision", "image_size", "global_batch", "batch_per_rank"}) {
    const bool varies = std::any_of(study.axes.begin(), study.axes.end(),
                                    [&](const Axis& axis) { return short_key(axis.key) == key && !axis.is_work; });
    const bool other_batch = (std::string(key) == "global_batch" && study.scaling != Scaling::strong);
    const std::string value = setting(*run, key);
    if (!varies && !other_batch && !value.empty()) parts.push_back(setting_label(key, value));
  }
  return join(parts, ", ");
}

std::string repeats_text(const std::vector<const Cell*>& cells) {
  int least = 1 << 30, most = 0;
  for (const Cell* cell : cells) {
    if (cell->status != CellStatus::complete) continue;
    least = std::min(least, cell->num_repeats());
    most = std::max(most, cell->num_repeats());
  }
  if (most == 0) return "nothing complete";
  return least == most ? counted(most, "repeat") : fmt::format("{} to {}", least, counted(most, "repeat"));
}

std::vector<std::vector<std::size_t>> pieces(const std::vector<std::size_t>& configurations, std::size_t most) {
  std::vector<std::vector<std::size_t>> out;
  for (std::size_t i = 0; i < configurations.size(); i += most)
    out.emplace_back(configurations.begin() + static_cast<std::ptrdiff_t>(i),
                     configurations.begin() + static_cast<std::ptrdiff_t>(std::min(i + most, configurations.size())));
  return out;
}

}  // namespace multicard::post
