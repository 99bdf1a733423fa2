#include "postproc/figures/Lines.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/Number.hpp"
#include "base/Text.hpp"
#include "postproc/study/Labels.hpp"

namespace multicard::post {

namespace {

using Settings = std::map<std::string, std::string>;

/// The distinct values of one other axis among `lines`.
std::set<std::string> values_in(const std::vector<Line>& lines, const std::string& key) {
  std::set<std::string> values;
  for (const Line& line : lines)
    values.insert(line.others.at(key));
  return values;
}

/// The setting with the fewest values, but more than one: splitting by it keeps the most lines together.
std::string best_parting(const std::vector<Line>& lines) {
  std::string best;
  std::size_t fewest = 0;
  for (const auto& [key, value] : lines.front().others) {
    const std::size_t number = values_in(lines, key).size();
    if (number > 1 && (best.empty() || number < fewest)) {
      best = key;
      fewest = number;
    }
  }
  return best;
}

Settings labels_of(const Study& study, const Settings& settings) {
  Settings labels;
  for (const auto& [key, value] : settings)
    labels[key] = study.keys.label(key, value);
  return labels;
}

/// Labels of the settings in which the lines of `panel` differ, or of those that they share.
std::string labels(const Line& line, const std::vector<Line>& panel, bool of_what_differs) {
  std::vector<std::string> parts;
  std::string ranks;  // said last
  for (const auto& [key, value] : line.others) {
    if ((values_in(panel, key).size() > 1) != of_what_differs) continue;
    if (key == "ranks")
      ranks = line.labels.at(key);
    else
      parts.push_back(line.labels.at(key));
  }
  if (!ranks.empty()) parts.push_back(ranks);
  return join(parts, ", ");
}

}  // namespace

double number_of(const std::string& value) {
  return parse_number<double>(value).value_or(kNone);
}

bool is_numeric(const Axis& axis) {
  return std::ranges::none_of(axis.values, [](const std::string& value) { return std::isnan(number_of(value)); });
}

std::vector<Line> lines_along(const Study& study, const std::string& key) {
  std::vector<Line> lines;
  for (const Cell& cell : study.cells) {
    Settings others = study.configuration(cell).settings;
    const double at = number_of(others.at(key));
    others.erase(key);
    others["ranks"] = std::to_string(cell.ranks);
    auto line = std::ranges::find_if(lines, [&](const Line& known) { return known.others == others; });
    if (line == lines.end()) line = lines.insert(lines.end(), Line{others, labels_of(study, others), {}});
    line->points.emplace_back(at, &cell);
  }
  std::erase_if(lines, [](const Line& line) { return line.points.size() < 2; });
  for (Line& line : lines)
    std::ranges::sort(line.points);
  std::ranges::stable_sort(lines, [](const Line& a, const Line& b) {
    return a.points.front().second->ranks < b.points.front().second->ranks;
  });
  return lines;
}

std::vector<std::vector<Line>> panels_of(const std::vector<Line>& lines, std::size_t most) {
  if (lines.empty()) return {};
  if (lines.size() <= most) return {lines};
  // Splitting is repeated until every panel is small enough; lines that differ in nothing cannot be split.
  const std::string key = best_parting(lines);
  if (key.empty()) return {{lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(most)}};
  std::vector<std::vector<Line>> panels;
  std::vector<std::string> values;  // in the order of the lines
  for (const Line& line : lines)
    add_once(values, line.others.at(key));
  for (const std::string& value : values) {
    std::vector<Line> part;
    std::ranges::copy_if(lines, std::back_inserter(part),
                         [&](const Line& line) { return line.others.at(key) == value; });
    for (auto& panel : panels_of(part, most))
      panels.push_back(std::move(panel));
  }
  return panels;
}

std::string label_of(const Line& line, const std::vector<Line>& panel) {
  const std::string label = labels(line, panel, true);
  return label.empty() ? labels(line, panel, false) : label;
}

std::string in_common(const std::vector<Line>& panel) {
  return panel.size() < 2 ? std::string() : labels(panel.front(), panel, false);
}

}  // namespace multicard::post
