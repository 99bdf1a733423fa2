#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/HeatMap.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/study/Evaluation.hpp"

namespace multicard::post {

namespace {

/// Classes: with a number in each square, and drawn at all.
constexpr std::size_t kMostWithNumbers = 20, kMostDrawn = 200;
constexpr double kColumnRoom = 380;  ///< pixels that the columns' names share

/// Names where they fit over columns, else the classes' numbers.
std::vector<std::string> column_names(const EvaluationReport& report) {
  std::vector<std::string> names;
  double widest = 0;
  for (const ClassScore& score : report.classes) {
    names.push_back(score.name);
    widest = std::max(widest, text_width(score.name, Canvas::kFontSize));
  }
  if ((widest + 6) * static_cast<double>(names.size()) <= kColumnRoom) return names;
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = std::to_string(i);
  return names;
}

/// Every class with its counts; shades are roots of the shares of the row, so that rare mistakes are visible.
HeatMap small_map(const EvaluationReport& report) {
  HeatMap map;
  map.columns = column_names(report);
  map.column_name = "taken for";
  map.row_name = "is";
  for (std::size_t i = 0; i < report.classes.size(); ++i) {
    const std::string& name = report.classes[i].name;
    map.rows.push_back(map.columns[i] == name ? name : fmt::format("{} ({})", name, i));
    map.cells.emplace_back(report.classes.size());
  }
  for (const ConfusionCount& entry : report.confusion) {
    const auto row = static_cast<std::size_t>(entry.actual);
    const auto samples = static_cast<double>(std::max<std::int64_t>(1, report.classes[row].samples));
    map.cells[row][static_cast<std::size_t>(entry.predicted)] = {
        HeatCellKind::value, std::sqrt(static_cast<double>(entry.count) / samples), grouped(entry.count),
        static_cast<double>(entry.count), fmt::format("of {}", counted(report.classes[row].samples, "sample"))};
  }
  return map;
}

/// For too many classes for numbers: one square per pair, in a few shades.
struct LargeMap {
  std::string title, subtitle;
  const EvaluationReport& report;

  ChartData data() const {
    ChartData out{{"row", "column", "value", "status"}, {}};
    for (const ConfusionCount& entry : report.confusion)
      out.rows.push_back({std::to_string(entry.actual), std::to_string(entry.predicted),
                          static_cast<double>(entry.count), std::string("complete")});
    return out;
  }
  Drawing drawing() const {
    constexpr double kSide = 420, kLeft = 70;
    constexpr std::size_t kShades = 12;
    Canvas canvas(title, subtitle);
    const double top = canvas.content_top() + 24;
    const auto number = static_cast<double>(report.classes.size());
    canvas.area({kLeft, top, kLeft + kSide, top + kSide});
    canvas.text(2, top - 16, "is class", Align::left, Ink::faint);
    canvas.text(kLeft + kSide / 2, top + kSide + 36, "taken for class", Align::centre, Ink::faint);
    canvas.command(fmt::format("set xrange [-0.5:{0}]\nset yrange [{0}:-0.5]", number - 0.5));
    canvas.command("set tics out");
    // One element of the plot for each shade, since an element has one colour.
    std::array<std::vector<std::vector<double>>, kShades> squares;
    for (const ConfusionCount& entry : report.confusion) {
      const auto samples = static_cast<double>(report.classes[static_cast<std::size_t>(entry.actual)].samples);
      const double share = std::min(1.0, static_cast<double>(entry.count) / std::max(1.0, samples));
      const auto x = static_cast<double>(entry.predicted), y = static_cast<double>(entry.actual);
      // The root, as in small maps: a share of 1 % is still visible.
      const auto shade = static_cast<std::size_t>(std::ceil(std::sqrt(share) * (kShades - 1)));
      squares[shade].push_back({x, y, x - 0.5, x + 0.5, y - 0.5, y + 0.5});
    }
    for (std::size_t i = 0; i < kShades; ++i)
      if (!squares[i].empty())
        canvas.plot(fmt::format("with boxxyerror fs solid 1 noborder lc rgb '{}'",
                                shade_of(0.12 + 0.88 * static_cast<double>(i) / (kShades - 1))),
                    squares[i]);
    // A tip for each class: one for each square would be thousands.
    const double side = kSide / number;
    for (const ConfusionCount& entry : report.confusion)
      if (entry.actual == entry.predicted)
        canvas.tip(kLeft + static_cast<double>(entry.predicted) * side, top + static_cast<double>(entry.actual) * side,
                   side, side,
                   fmt::format("{}: {} of {} right", report.classes[static_cast<std::size_t>(entry.actual)].name,
                               entry.count, report.classes[static_cast<std::size_t>(entry.actual)].samples));
    return canvas.finished(top + kSide + 52);
  }
};

}  // namespace

void add_confusion_figure(const RunReport& run, const std::string& id, std::vector<Figure>& figures) {
  const EvaluationReport& report = *run.evaluation;
  if (report.confusion.empty() || report.classes.size() > kMostDrawn) return;
  const Finding title = confusion_finding(report);
  const std::string of = counted(report.samples, "sample") + " of " + fmt::format("{} classes", report.classes.size());
  if (report.classes.size() > kMostWithNumbers) {
    const LargeMap map{{}, of + "; darker: a larger share of the row", report};
    figures.push_back(figure_of(id, Section::learning, title, map, {}, "Confusion matrix"));
    return;
  }
  HeatMap map = small_map(report);
  map.subtitle = of + "; numbers are samples, darker is a larger share of the row";
  figures.push_back(figure_of(id, Section::learning, title, map, {}, "Confusion matrix"));
}

}  // namespace multicard::post
