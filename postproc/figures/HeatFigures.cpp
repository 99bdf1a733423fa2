#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/draw/HeatMap.hpp"
#include "postproc/figures/Figures.hpp"
#include "postproc/figures/Lines.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Labels.hpp"

namespace multicard::post {

namespace {

/// What a page can show; axes given by --heat have no limit.
constexpr std::size_t kMostColumns = 8, kMostRows = 24, kMostMaps = 6;
constexpr double kLeastRange = 1.5;  ///< of the shades: small differences must not look large
/// Numbers of ranks are no axis of the study, but a direction of the map.
constexpr const char* kRanks = "ranks";

/// One direction of the map: its key ("ranks" or that of an axis) and the values in order.
struct Direction {
  std::string key;
  std::vector<std::string> values;
};

std::optional<Direction> direction_of(const Study& study, const std::string& name) {
  if (name == kRanks) {
    Direction ranks{kRanks, {}};
    for (const int count : study.rank_counts)
      ranks.values.push_back(std::to_string(count));
    return ranks;
  }
  for (const Axis& axis : study.axes) {
    if (axis.key != name && short_key(axis.key) != name) continue;
    Direction direction{axis.key, axis.values};
    if (is_numeric(axis))
      std::ranges::sort(direction.values, [](const auto& a, const auto& b) { return number_of(a) < number_of(b); });
    return direction;
  }
  return std::nullopt;
}

/// The two axes with the most values, the longer one across.
std::optional<HeatAxes> default_axes(const Study& study) {
  std::vector<const Axis*> axes;
  for (const Axis& axis : study.axes)
    if (!axis.is_learning) axes.push_back(&axis);
  if (axes.size() < 2) return std::nullopt;
  std::ranges::stable_sort(axes, [](const Axis* a, const Axis* b) { return a->values.size() > b->values.size(); });
  return HeatAxes{axes[0]->key, axes[1]->key};
}

std::string value_of(const Study& study, const Cell& cell, const std::string& key) {
  return key == kRanks ? std::to_string(cell.ranks) : study.configuration(cell).settings.at(key);
}

/// The settings that a map keeps fixed, since rates of different work are not comparable, and its cells.
struct Map {
  std::string fixed;
  std::vector<const Cell*> cells;
};

/// One map for each kind of work, apart from the two axes of the map.
std::vector<Map> maps_of(const Study& study, const Direction& across, const Direction& down) {
  std::vector<Map> maps;
  const bool over_ranks = across.key == kRanks || down.key == kRanks;
  for (const Cell& cell : study.cells) {
    // Without ranks as a direction all cells are on most ranks.
    if (!over_ranks && cell.ranks != study.rank_counts.back()) continue;
    std::vector<std::string> parts;
    for (const Axis& axis : study.axes)
      if (axis.is_work && axis.key != across.key && axis.key != down.key)
        parts.push_back(study.keys.label(axis.key, value_of(study, cell, axis.key)));
    if (!over_ranks && study.has_scaling()) parts.push_back(counted(cell.ranks, "rank"));
    const std::string fixed = join(parts, ", ");
    auto map = std::ranges::find_if(maps, [&](const Map& known) { return known.fixed == fixed; });
    if (map == maps.end()) map = maps.insert(maps.end(), Map{fixed, {}});
    map->cells.push_back(&cell);
  }
  return maps;
}

/// The fastest of the cells at one place, or a failed one; null where nothing was run.
const Cell* cell_at(const Study& study, const Map& map, const std::pair<std::string, std::string>& across,
                    const std::pair<std::string, std::string>& down) {
  const Cell* best = nullptr;
  for (const Cell* cell : map.cells) {
    if (value_of(study, *cell, across.first) != across.second || value_of(study, *cell, down.first) != down.second)
      continue;
    if (!best || (cell->counts() && (!best->counts() || cell->rate.value > best->rate.value))) best = cell;
  }
  return best;
}

/// Axes that are neither direction nor fixed: the map shows the best of their values.
std::vector<std::string> free_axes(const Study& study, const Direction& across, const Direction& down) {
  std::vector<std::string> names;
  for (const Axis& axis : study.axes)
    if (!axis.is_work && axis.key != across.key && axis.key != down.key) names.push_back(study.keys.label(axis.key));
  return names;
}

std::string name_of(const Study& study, const Direction& direction) {
  return direction.key == kRanks ? std::string(kRanks) : study.keys.label(direction.key);
}

/// The cells of a map by row and column, null where nothing was run.
struct Grid {
  std::vector<std::vector<const Cell*>> places;
  std::vector<const Cell*> measured;
  const Cell *most = nullptr, *least = nullptr;  ///< of the measured ones, by rate
  bool any_failed = false;

  void add(const Cell* cell) {
    places.back().push_back(cell);
    if (cell && !cell->counts()) any_failed = true;
    if (!cell || !cell->counts()) return;
    measured.push_back(cell);
    if (!most || cell->rate.value > most->rate.value) most = cell;
    if (!least || cell->rate.value < least->rate.value) least = cell;
  }
  HeatCell shown(const Study& study, const Cell* cell) const {
    if (!cell) return {};
    if (!cell->counts()) return {HeatCellKind::failed, 0, {}, 0, unfinished_text(study, *cell)};
    // Shades are linear in the logarithm of the rate: 1 at the highest, 0.05 at the lowest or at kLeastRange below it.
    const double range = std::log(std::max(kLeastRange, most->rate.value / least->rate.value));
    return {HeatCellKind::value, 1 - 0.95 * std::log(most->rate.value / cell->rate.value) / range,
            significant(cell->rate.value, 3), cell->rate.value,
            fmt::format("{} {}; {}", with_interval(cell->rate), study.rate_unit(), origin_of(study, *cell))};
  }
};

/// Whether rates along this direction do not compare: it changes the work.
bool is_work(const Study& study, const Direction& direction) {
  return std::ranges::any_of(study.axes, [&](const Axis& axis) { return axis.key == direction.key && axis.is_work; });
}

std::string place_of(const Study& study, const Cell& cell, const Direction& across, const Direction& down) {
  return fmt::format("{}, {}", study.keys.label(down.key, value_of(study, cell, down.key)),
                     study.keys.label(across.key, value_of(study, cell, across.key)));
}

/// Which place has the highest rate, where all rates compare and the next one is measurably lower.
Finding title_of(const Study& study, const Grid& grid, const Direction& across, const Direction& down) {
  const std::string what =
      fmt::format("{} by {} and {}", capitalised(study.rate_unit()), name_of(study, down), name_of(study, across));
  if (is_work(study, across) || is_work(study, down)) return {what};
  const Cell* second = nullptr;
  for (const Cell* cell : grid.measured)
    if (cell != grid.most && (!second || cell->rate.value > second->rate.value)) second = cell;
  if (!second || !significantly_different(grid.most->rate, second->rate)) return {what + ": no clear winner"};
  const bool is_of_one_number = study.has_scaling() && across.key != kRanks && down.key != kRanks;
  return {fmt::format("{} {} at {} is the most{}", significant(grid.most->rate.value, 3), study.rate_unit(),
                      place_of(study, *grid.most, across, down),
                      is_of_one_number ? " on " + counted(grid.most->ranks, "rank") : ""),
          {{"rate", grid.most->rate.value}, {"ranks", grid.most->ranks}}};
}

/// A row for each value down, a column for each across.
Grid grid_of(const Study& study, const Map& map, const Direction& across, const Direction& down) {
  Grid grid;
  for (const std::string& row : down.values) {
    grid.places.emplace_back();
    for (const std::string& column : across.values)
      grid.add(cell_at(study, map, {across.key, column}, {down.key, row}));
  }
  return grid;
}

std::string caption_of(const Study& study, const Grid& grid, const Direction& across, const Direction& down) {
  const std::string aid = "Darker is faster, on a logarithmic scale; the table of configurations has the intervals.";
  if (is_work(study, across) || is_work(study, down)) return aid + " Rates of different work are not compared.";
  return fmt::format("The most is {} times the least ({} {} at {}). {}",
                     with_interval(ratio(grid.most->rate, grid.least->rate), 3), significant(grid.least->rate.value, 3),
                     study.rate_unit(), place_of(study, *grid.least, across, down), aid);
}

void add_map(const Study& study, const Map& cells, const Direction& across, const Direction& down, int number,
             std::vector<Figure>& figures) {
  const Grid grid = grid_of(study, cells, across, down);
  if (!grid.most) return;
  HeatMap map;
  for (const auto& row : grid.places) {
    map.cells.emplace_back();
    for (const Cell* cell : row)
      map.cells.back().push_back(grid.shown(study, cell));
  }
  for (const std::string& value : across.values)
    map.columns.push_back(study.keys.label(across.key, value));
  for (const std::string& value : down.values)
    map.rows.push_back(study.keys.label(down.key, value));
  const std::vector<std::string> free = free_axes(study, across, down);
  const Finding title = title_of(study, grid, across, down);
  map.subtitle =
      fmt::format("{} over all ranks, {} across, {} down{}{}. {}{}", study.rate_unit(), name_of(study, across),
                  name_of(study, down), cells.fixed.empty() ? "" : "; " + cells.fixed,
                  free.empty() ? "" : "; the best of " + join(free, ", "), repeats_text(grid.measured),
                  grid.any_failed ? ", × did not complete" : "");
  figures.push_back(figure_of(numbered("heat", number), Section::study, title, map,
                              caption_of(study, grid, across, down), "Two settings at a time"));
}

}  // namespace

bool has_axis(const Study& study, const std::string& name) {
  return direction_of(study, name).has_value();
}

void add_heat_figures(const Study& study, const std::optional<HeatAxes>& heat, std::vector<Figure>& figures) {
  const bool is_chosen = heat && has_axis(study, heat->first) && has_axis(study, heat->second);
  const std::optional<HeatAxes> axes = is_chosen ? heat : default_axes(study);
  if (!axes) return;
  Direction across = *direction_of(study, axes->first), down = *direction_of(study, axes->second);
  // Many values are better down, where there is room.
  if (!is_chosen && across.values.size() > kMostColumns) std::swap(across, down);
  if (!is_chosen && (across.values.size() > kMostColumns || down.values.size() > kMostRows)) return;
  int number = 0;
  for (const Map& map : maps_of(study, across, down))
    if (number < static_cast<int>(kMostMaps)) add_map(study, map, across, down, number++, figures);
}

}  // namespace multicard::post
