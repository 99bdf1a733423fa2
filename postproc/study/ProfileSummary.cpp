#include "postproc/study/ProfileSummary.hpp"

#include <map>
#include <utility>

namespace multicard::post {

namespace {

void add(const Distribution& more, Distribution& time) {
  time.count += more.count;
  time.total += more.total;
}

/// Adds rows that `key_of` finds equal.
template <class Row, class KeyOf>
void add_rows(const std::vector<Row>& more, std::vector<Row>& rows, const KeyOf& key_of) {
  using Key = decltype(key_of(more.front()));
  std::map<Key, std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i)
    places.emplace(key_of(rows[i]), i);
  for (const Row& row : more) {
    const auto [place, is_new] = places.emplace(key_of(row), rows.size());
    if (is_new) {
      rows.push_back(row);
      continue;
    }
    Row& known = rows[place->second];
    add(row.time, known.time);
    if constexpr (requires { row.cost; }) known.cost.add(row.cost);
    if constexpr (requires { row.bytes; }) known.bytes += row.bytes;
  }
}

void add(const Profile& more, Profile& total) {
  const auto by_name = [](const auto& row) { return row.name; };
  add_rows(more.calls, total.calls, by_name);
  add_rows(more.kernels, total.kernels, by_name);
  add_rows(more.collectives, total.collectives, by_name);
  add_rows(more.copies, total.copies, [](const CopyRow& row) { return row.direction; });
  add_rows(more.phases, total.phases, by_name);
  add_rows(more.operators, total.operators, [](const OperatorRow& row) { return std::pair(row.name, row.phase); });
}

}  // namespace

std::vector<CellProfile> cell_profiles(const Study& study) {
  std::vector<CellProfile> profiles;
  for (const Cell& cell : study.cells) {
    CellProfile of{&cell, 0, {}};
    for (const std::size_t run : cell.measured)
      for (const Profile& profile : study.runs[run].profiles) {
        of.rank_steps += profile.num_steps;
        add(profile, of.total);
      }
    if (of.rank_steps == 0) continue;
    add_shares(of.total);
    sort_rows(of.total);
    profiles.push_back(std::move(of));
  }
  return profiles;
}

}  // namespace multicard::post
