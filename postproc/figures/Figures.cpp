#include "postproc/figures/Figures.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/Svg.hpp"
#include "postproc/study/Axes.hpp"
#include "postproc/study/Methods.hpp"
#include "postproc/study/NoAnswer.hpp"

namespace multicard::post {

/// The order is that of the page within each section: comparisons before details.
std::vector<Figure> plan_figures(const Study& study, const std::optional<HeatAxes>& heat) {
  std::vector<Figure> figures;
  add_data_set_figures(study, figures);
  add_method_figures(study, figures);
  add_allocation_figures(study, figures);
  add_overview_figure(study, figures);
  add_comparison_figures(study, figures);
  add_scaling_figures(study, figures);
  add_model_figures(study, figures);
  add_size_figures(study, figures);
  add_option_figures(study, figures);
  add_heat_figures(study, heat, figures);
  add_learning_figures(study, figures);
  add_loss_scale_figures(study, figures);
  add_share_figures(study, figures);
  add_phase_figures(study, figures);
  add_profile_figures(study, figures);
  add_memory_figures(study, figures);
  add_rank_figures(study, figures);
  if (!study.id.empty())
    for (Figure& figure : figures)
      figure.id = study.id + "-" + figure.id;
  return figures;
}

namespace {

/// The names of a row and its first numbers: "ddp-ds 2 1.55".
std::string described(const std::vector<ChartValue>& row) {
  constexpr std::size_t kMostNumbers = 2;
  std::vector<std::string> parts;
  std::size_t numbers = 0;
  for (const ChartValue& value : row)
    if (const auto* name = std::get_if<std::string>(&value)) {
      if (!name->empty() && *name != "complete") parts.push_back(*name);
    } else if (std::isfinite(std::get<double>(value)) && numbers++ < kMostNumbers) {
      parts.push_back(significant(std::get<double>(value)));
    }
  return join(parts, " ");
}

std::string described(const ChartData& data) {
  constexpr std::size_t kMostRows = 12;
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < std::min(kMostRows, data.rows.size()); ++i)
    rows.push_back(described(data.rows[i]));
  if (data.rows.size() > kMostRows) rows.push_back(fmt::format("and {} more", data.rows.size() - kMostRows));
  return join(rows, "; ");
}

}  // namespace

void draw(const Gnuplot& gnuplot, std::vector<Figure>& figures, Formats formats) {
  for (Figure& figure : figures) {
    figure.svg =
        with_tips(themed(gnuplot.run(svg_script(figure.drawing)), figure.id, figure.title, described(figure.data)),
                  figure.drawing.tips);
    figure.svg_on_page = without_head(figure.svg, figure.drawing.head_height);
    if (formats == Formats::svg_and_pdf) figure.pdf = gnuplot.run(pdf_script(figure.drawing));
  }
}

std::vector<std::size_t> all_configurations(const Study& study) {
  std::vector<std::size_t> all(study.configurations.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

std::string common_settings(const Study& study, const std::vector<std::size_t>& configurations) {
  std::vector<std::string> parts;
  for (const char* key : {"model", "method", "strategy", "precision", "image_size", "global_batch", "batch_per_rank"}) {
    const bool is_method = std::string(key) == "method";
    std::set<std::string> values;
    for (const Cell& cell : study.cells)
      if (std::ranges::find(configurations, cell.configuration) != configurations.end())
        for (const std::size_t run : cell.runs)
          if (const std::string value = is_method ? method_of(study.runs[run]) : setting(study.runs[run], key);
              !value.empty())
            values.insert(value);
    if (values.size() == 1) parts.push_back(study.keys.label(key, *values.begin()));
  }
  return parts.empty() ? "no settings known" : join(parts, ", ");
}

std::string repeats_text(const std::vector<const Cell*>& cells) {
  // Stopped runs are measured too, but the repeats named are those that medians are over.
  int least = 1 << 30, most = 0;
  for (const Cell* cell : cells) {
    if (cell->status != CellStatus::complete) continue;
    least = std::min(least, cell->num_repeats());
    most = std::max(most, cell->num_repeats());
  }
  if (most == 0) return "nothing complete";
  return least == most ? counted(most, "repeat") : fmt::format("{} to {}", least, counted(most, "repeat"));
}

std::string reading_aid(const Study& study, const std::vector<const Cell*>& cells) {
  const bool crosses = std::ranges::any_of(cells, [&](const Cell* cell) { return any_unfinished(study, *cell); });
  return fmt::format("{}, 95 % intervals{}", repeats_text(cells), crosses ? ", × failed or stopped" : "");
}

std::string origin_of(const Study& study, const Cell& cell) {
  constexpr std::size_t kMostNames = 4;
  const std::vector<std::size_t>& runs = cell.measured.empty() ? cell.runs : cell.measured;
  if (runs.size() == 1) {
    const RunReport& run = study.runs[runs.front()];
    return fmt::format("run {}, {}", run.name, counted(static_cast<long>(run.num_measured), "measured step"));
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(kMostNames, runs.size()); ++i)
    names.push_back(study.runs[runs[i]].name);
  if (runs.size() > kMostNames) names.emplace_back("…");
  return fmt::format("{}: runs {}", counted(static_cast<long>(runs.size()), "repeat"), join(names, ", "));
}

std::string unfinished_text(const Study& study, const Cell& cell) {
  std::vector<std::string> parts;
  for (const char* status : {"failed", "stopped"}) {
    const auto number =
        std::ranges::count_if(cell.runs, [&](std::size_t run) { return study.runs[run].status == status; });
    if (number)
      parts.push_back(fmt::format("{} of {} {}", number, counted(static_cast<long>(cell.runs.size()), "run"), status));
  }
  for (const std::size_t run : cell.runs)
    if (!study.runs[run].error.empty()) {
      parts.push_back(problem_of(study.runs[run].error));
      break;
    }
  return join(parts, "; ");
}

bool any_unfinished(const Study& study, const Cell& cell) {
  return std::ranges::any_of(cell.runs, [&](std::size_t run) { return study.runs[run].status != "complete"; });
}

std::string numbered(const std::string& id, int number) {
  return number == 0 ? id : fmt::format("{}-{}", id, number + 1);
}

std::optional<ErrorBar> error_bar(const Estimate& estimate) {
  if (!estimate.interval) return std::nullopt;
  return ErrorBar{estimate.interval->low, estimate.interval->high};
}

}  // namespace multicard::post
