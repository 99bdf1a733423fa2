// Which configurations of two results are the same.

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/study/Axes.hpp"
#include "postproc/study/Comparison.hpp"
#include "postproc/study/DeckSettings.hpp"
#include "postproc/study/Labels.hpp"
#include "postproc/study/Ranking.hpp"
#include "results/DeckText.hpp"

namespace multicard::post {

namespace {

/// A cell and its study.
struct Place {
  const Study* study;
  const Cell* cell;

  const RunReport& run() const { return study->runs[cell->runs.front()]; }
};

std::vector<Place> places_of(const Collection& collection) {
  std::vector<Place> places;
  for (const Study& study : collection.studies)
    for (const Cell& cell : study.cells)
      places.push_back({&study, &cell});
  return places;
}

/// By the axis where it is one; else what the run says of it: axes of one study are constant in another.
std::string value_of(const Place& place, const std::string& key) {
  const auto& settings = place.study->configuration(*place.cell).settings;
  if (const auto found = settings.find(key); found != settings.end()) return found->second;
  for (const std::string& name : {key, short_key(key)})
    if (const std::string value = setting(place.run(), name); !value.empty()) return value;
  return deck_value(place.run().deck, key);
}

/// "image", "llm"; empty of runs that failed before they were recorded.
std::string task_of(const Study& study) {
  for (const RunReport& run : study.runs)
    if (const std::string task = setting(run, "task"); !task.empty()) return task;
  return {};
}

std::set<std::string> varied_keys(const Study& a, const Study& b) {
  std::set<std::string> keys;
  for (const Study* study : {&a, &b})
    for (const Axis& axis : study->axes)
      keys.insert(axis.key);
  return keys;
}

bool is_ranks_varied(const Study& a, const Study& b) {
  return a.has_scaling() || b.has_scaling();
}

bool are_same(const Place& a, const Place& b) {
  const std::string task_a = task_of(*a.study), task_b = task_of(*b.study);
  if (!task_a.empty() && !task_b.empty() && task_a != task_b) return false;
  if (is_ranks_varied(*a.study, *b.study) && a.cell->ranks != b.cell->ranks) return false;
  return std::ranges::all_of(varied_keys(*a.study, *b.study), [&](const std::string& key) {
    const std::string of_a = value_of(a, key), of_b = value_of(b, key);
    // The machines are compared as environment: only files of several machines have this axis.
    if (key == "machine" && (of_a.empty() || of_b.empty())) return true;
    return same_value(of_a, of_b);
  });
}

/// Names the pairs by what distinguishes them from each other, or by what all have in common where nothing does.
void add_labels(std::vector<ComparedCell>& cells) {
  std::map<std::string, std::set<std::string>> values;
  for (const ComparedCell& cell : cells)
    for (const std::string& key : varied_keys(*cell.study_a, *cell.study_b))
      values[key].insert(value_of({cell.study_a, cell.cell_a}, key));
  for (ComparedCell& cell : cells) {
    const Place place{cell.study_a, cell.cell_a};
    std::vector<std::string> parts;
    for (const auto& [key, different] : values)
      if (const std::string value = value_of(place, key); different.size() > 1 && !value.empty())
        parts.push_back(cell.study_a->keys.label(key, value));
    cell.label = parts.empty() ? cell.study_a->configuration(*cell.cell_a).full_label() : join(parts, ", ");
    if (cell.cell_a->ranks == cell.cell_b->ranks) cell.label += " on " + ranks_text(*cell.cell_a);
  }
}

std::string name_of(const Place& place) {
  return name_of(*place.study, *place.cell);
}

}  // namespace

void match_cells(const Collection& a, const Collection& b, Comparison& comparison) {
  const std::vector<Place> of_a = places_of(a);
  std::vector<Place> of_b = places_of(b);
  for (const Place& place : of_a) {
    // On as many ranks rather than on others, where single runs are compared whatever their ranks.
    auto found = std::ranges::find_if(
        of_b, [&](const Place& other) { return other.cell->ranks == place.cell->ranks && are_same(place, other); });
    if (found == of_b.end())
      found = std::ranges::find_if(of_b, [&](const Place& other) { return are_same(place, other); });
    if (found == of_b.end()) {
      comparison.only_a.push_back(name_of(place));
      continue;
    }
    ComparedCell& cell = comparison.cells.emplace_back();
    cell.study_a = place.study, cell.cell_a = place.cell;
    cell.study_b = found->study, cell.cell_b = found->cell;
    of_b.erase(found);
  }
  add_labels(comparison.cells);
  for (const Place& place : of_b)
    comparison.only_b.push_back(name_of(place));
}

}  // namespace multicard::post
