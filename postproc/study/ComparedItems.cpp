// What steps spend under the names of operators, calls, kernels, collectives and stages of input, in two results.

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "postproc/study/Comparison.hpp"

namespace multicard::post {

namespace {

/// Seconds and calls, of a step and rank.
struct Spent {
  double seconds = 0, count = 0;
};

using Items = std::map<std::string, Spent>;

ProfileSum profile_of(const Study& study, const Cell& cell) {
  std::vector<const ProfileSum*> runs;
  for (const std::size_t run : cell.measured)
    if (study.runs[run].profile.rank_steps > 0) runs.push_back(&study.runs[run].profile);
  return sum_of(runs);
}

const std::string& name_of(const CopyRow& row) {
  return row.direction;
}
template <class Row>
const std::string& name_of(const Row& row) {
  return row.name;
}
std::string name_of(const OperatorRow& row) {
  return row.phase.empty() ? row.name : row.name + " in " + row.phase;
}

std::int64_t time_of(const OperatorRow& row) {
  return row.cost.self_ns;
}
std::int64_t time_of(const MpiRow& row) {
  return row.ns;
}
template <class Row>
std::int64_t time_of(const Row& row) {
  return row.time.total;
}

std::int64_t count_of(const MpiRow& row) {
  return row.calls;
}
template <class Row>
std::int64_t count_of(const Row& row) {
  return row.time.count;
}

template <class Row>
Items items_of(const ProfileSum& sum, std::vector<Row> Profile::*rows) {
  Items out;
  const auto steps = static_cast<double>(sum.rank_steps);
  for (const Row& row : sum.total.*rows) {
    Spent& spent = out[name_of(row)];
    spent.seconds += 1e-9 * static_cast<double>(time_of(row)) / steps;
    spent.count += static_cast<double>(count_of(row)) / steps;
  }
  return out;
}

/// Calls without any time have no part in a difference.
void keep(Items& items, const std::string& name, double seconds, double count) {
  if (!(seconds > 0)) return;
  items[name].seconds += seconds;
  items[name].count += count;
}

/// Means over the measured runs, whose totals are of all their steps.
Items collectives_of(const Study& study, const Cell& cell) {
  Items out;
  for (const std::size_t index : cell.measured) {
    const RunReport& run = study.runs[index];
    const double steps = static_cast<double>(run.num_steps) * static_cast<double>(cell.measured.size());
    for (const auto& [kind, totals] : run.communication) {
      const double calls = static_cast<double>(totals.calls) / steps;
      keep(out, kind, totals.seconds_total / steps, calls);
      keep(out, kind + ", exposed", totals.seconds_exposed / steps, calls);
      keep(out, kind + ", waiting for ranks", totals.seconds_skew / steps, calls);
    }
  }
  return out;
}

Items input_of(const Study& study, const Cell& cell) {
  Items out;
  for (const std::size_t index : cell.measured) {
    const RunReport& run = study.runs[index];
    const double steps = static_cast<double>(run.num_steps) * run.ranks * static_cast<double>(cell.measured.size());
    for (const FilesReport& files : run.files)
      keep(out, files.kind, files.seconds / steps, files.calls / steps);
  }
  return out;
}

/// Nothing where one side recorded none of this kind: there is no difference between something and the unknown.
void add(std::vector<ComparedItems>& all, const std::string& id, const std::string& heading, const Items& a,
         const Items& b) {
  if (a.empty() || b.empty()) return;
  std::map<std::string, ComparedItem> both;
  for (const auto& [name, spent] : a) {
    ComparedItem& item = both[name];
    item.seconds_a = spent.seconds, item.count_a = spent.count;
  }
  for (const auto& [name, spent] : b) {
    ComparedItem& item = both[name];
    item.seconds_b = spent.seconds, item.count_b = spent.count;
  }
  ComparedItems items{id, heading, {}};
  for (auto& [name, item] : both) {
    item.name = name;
    items.items.push_back(std::move(item));
  }
  std::ranges::stable_sort(items.items, std::greater(),
                           [](const ComparedItem& item) { return std::abs(item.difference()); });
  all.push_back(std::move(items));
}

}  // namespace

std::vector<ComparedItems> compared_items(const ComparedCell& cell) {
  std::vector<ComparedItems> out;
  const ProfileSum a = profile_of(*cell.study_a, *cell.cell_a), b = profile_of(*cell.study_b, *cell.cell_b);
  if (a.rank_steps > 0 && b.rank_steps > 0) {
    const auto rows = [&](const char* id, const char* heading, auto member) {
      add(out, id, heading, items_of(a, member), items_of(b, member));
    };
    rows("kernels", "Kernels", &Profile::kernels);
    rows("operators", "Operators, own time on the host", &Profile::operators);
    rows("calls", "Calls of CUDA", &Profile::calls);
    rows("nccl", "Kernels of NCCL by collective", &Profile::collectives);
    rows("copies", "Copies", &Profile::copies);
    rows("mpi", "Functions of MPI", &Profile::mpi);
  }
  add(out, "collectives", "Collectives", collectives_of(*cell.study_a, *cell.cell_a),
      collectives_of(*cell.study_b, *cell.cell_b));
  add(out, "input", "Input and files, on the loader's threads too", input_of(*cell.study_a, *cell.cell_a),
      input_of(*cell.study_b, *cell.cell_b));
  return out;
}

}  // namespace multicard::post
