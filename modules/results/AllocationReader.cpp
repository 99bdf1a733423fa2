#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "results/ResultsReader.hpp"
#include "results/Schema.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kMostRanks = 1 << 20;

bool is_possible(const AllocationInterval& interval) {
  return interval.first_rank >= 0 && interval.ranks > 0 && interval.ranks <= kMostRanks &&
         interval.first_rank <= kMostRanks && std::isfinite(interval.start_s) && std::isfinite(interval.end_s) &&
         interval.start_s >= 0 && interval.end_s >= interval.start_s && std::isfinite(interval.predicted_step_s) &&
         std::isfinite(interval.measured_step_s);
}

}  // namespace

std::vector<AllocationInterval> ResultsFile::allocation() const {
  if (!file_.exists(schema::kAllocation)) return {};
  const std::string group = fmt::format("{}/intervals/", schema::kAllocation);
  const auto refuse = [&](const std::string& why) {
    throw DataError(fmt::format("{}: {} is damaged", path(), schema::kAllocation), why);
  };
  const auto tasks = file_.read_texts(group + "task");
  const auto first_ranks = file_.read_values<std::int64_t>(group + "first_rank");
  const auto ranks = file_.read_values<std::int64_t>(group + "ranks");
  const auto starts = file_.read_values<double>(group + "start_s");
  const auto ends = file_.read_values<double>(group + "end_s");
  const auto seconds = [&](const char* name) {  // older files lack them
    const std::string column = group + name;
    return file_.exists(column) ? file_.read_values<double>(column) : std::vector<double>(tasks.size());
  };
  const auto predicted = seconds("predicted_step_s"), measured = seconds("measured_step_s");
  for (const std::size_t length :
       {first_ranks.size(), ranks.size(), starts.size(), ends.size(), predicted.size(), measured.size()})
    if (length != tasks.size()) refuse("its columns have different lengths");
  std::vector<AllocationInterval> found;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    found.push_back({tasks[i], first_ranks[i], ranks[i], starts[i], ends[i], predicted[i], measured[i]});
    if (!is_possible(found.back())) refuse(fmt::format("its interval {} cannot be", i));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.start_s < b.start_s; });
  return found;
}

}  // namespace multicard
