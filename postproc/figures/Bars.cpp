#include "postproc/figures/Bars.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard::post {

namespace {

constexpr std::size_t kMostCells = 12;

}  // namespace

std::string numbered(const std::string& id, int number) {
  return number == 0 ? id : fmt::format("{}-{}", id, number + 1);
}

std::string bar_label(const Study& study, const Cell& cell, const std::vector<const Cell*>& cells) {
  const std::string& label = study.configurations[cell.configuration].label;
  std::string ranks = counted(cell.ranks, "rank");
  const auto same = [&](auto member) {
    return std::all_of(cells.begin(), cells.end(), [&](const Cell* other) { return other->*member == cell.*member; });
  };
  if (same(&Cell::configuration)) return ranks;
  return same(&Cell::ranks) ? label : fmt::format("{}, {}", label, ranks);
}

Bar crossed_bar(const Cell& cell, const std::string& label) {
  Bar bar;
  bar.label = label;
  bar.note = text_of(cell.status);
  bar.status = BarStatus::failed;
  return bar;
}

std::vector<std::vector<const Cell*>> cells_in_pieces(const Study& study, const std::vector<std::size_t>& group) {
  std::vector<const Cell*> all, last;
  for (const std::size_t configuration : group) {
    const auto cells = study.cells_of(configuration);
    all.insert(all.end(), cells.begin(), cells.end());
    last.push_back(cells.back());
  }
  const std::vector<const Cell*>& chosen = all.size() <= kMostCells ? all : last;
  std::vector<std::vector<const Cell*>> out;
  for (const Cell* cell : chosen) {
    if (out.empty() || out.back().size() == kMostBars) out.emplace_back();
    out.back().push_back(cell);
  }
  return out;
}

std::string on_ranks(const std::vector<const Cell*>& cells) {
  for (const Cell* cell : cells)
    if (cell->ranks != cells.front()->ranks) return {};
  return ", " + counted(cells.front()->ranks, "rank");
}

}  // namespace multicard::post
