#include <algorithm>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/page/PageTables.hpp"
#include "postproc/study/ProfileSummary.hpp"

namespace multicard::post {

namespace {

/// Of calls, kernels and operators of each configuration.
constexpr std::size_t kMostRows = 8;

HtmlCell ms_cell(double ns) {
  return {significant(ns / 1e6), ns};
}

HtmlCell percent_cell(double share) {
  return {percent(share), share};
}

std::vector<HtmlCell> first_cells(const Study& study, const CellProfile& of) {
  return {study.configuration(*of.cell).full_label(), HtmlCell(std::to_string(of.cell->ranks), of.cell->ranks)};
}

/// The first rows of a table of each configuration. \param rows_of of its profile \param rest the cells of a row after
/// configuration and ranks
template <class RowsOf, class Rest>
HtmlTable top_rows(const Study& study, const std::vector<CellProfile>& profiles, HtmlTable out, const RowsOf& rows_of,
                   const Rest& rest) {
  out.head.insert(out.head.begin(), {"configuration", "ranks"});
  for (const CellProfile& of : profiles) {
    const auto& rows = rows_of(of.total);
    for (std::size_t i = 0; i < std::min(kMostRows, rows.size()); ++i) {
      std::vector<HtmlCell> row = first_cells(study, of);
      const std::vector<HtmlCell> others = rest(of, rows[i]);
      row.insert(row.end(), others.begin(), others.end());
      out.rows.push_back(std::move(row));
    }
  }
  return out;
}

/// Name, number and time a step, and share of `whole`.
std::vector<HtmlCell> time_cells(const CellProfile& of, const NamedTimes& row, std::int64_t whole) {
  const double count = of.per_step(row.time.count);
  return {row.name, HtmlCell(significant(count), count), ms_cell(of.per_step(row.time.total)),
          percent_cell(static_cast<double>(row.time.total) / static_cast<double>(whole))};
}

/// The seven figures of each configuration.
HtmlTable shares_table(const Study& study, const std::vector<CellProfile>& profiles) {
  static const std::vector<ShareRow> kNoShares;
  return top_rows(
      study, profiles,
      {"profile-shares",
       "Time in a step of one rank, and shares in the profile windows, all ranks together: CUDA calls as a share of "
       "the "
       "time of all CUDA calls, host-to-device copies of that of copies and memsets, NCCL of that of kernels. Not "
       "recorded: –.",
       {"figure", "ms", "share"},
       {}},
      [](const Profile& profile) -> const auto& { return profile.has_gpu_work() ? profile.shares : kNoShares; },
      [](const CellProfile& of, const ShareRow& row) {
        const auto share = row.share();
        if (!row.is_recorded || !share) return std::vector<HtmlCell>{row.name, "–", "–"};
        return std::vector<HtmlCell>{row.name, ms_cell(of.per_step(row.ns)), percent_cell(*share)};
      });
}

HtmlTable calls_table(const Study& study, const std::vector<CellProfile>& profiles) {
  return top_rows(
      study, profiles,
      {"profile-calls",
       "Calls of the CUDA runtime and driver: a step of one rank.",
       {"call", "calls", "ms", "share"},
       {}},
      [](const Profile& profile) -> const auto& { return profile.calls; },
      [](const CellProfile& of, const NamedTimes& row) { return time_cells(of, row, of.total.api_ns); });
}

HtmlTable kernels_table(const Study& study, const std::vector<CellProfile>& profiles) {
  return top_rows(
      study, profiles,
      {"profile-kernels",
       "Kernels that take longest, and their share of the time of all kernels: a step of one rank.",
       {"kernel", "launches", "ms", "share"},
       {}},
      [](const Profile& profile) -> const auto& { return profile.kernels; },
      [](const CellProfile& of, const NamedTimes& row) { return time_cells(of, row, of.total.kernel_ns); });
}

HtmlTable operators_table(const Study& study, const std::vector<CellProfile>& profiles) {
  return top_rows(
      study, profiles,
      {"profile-operators",
       "Operators by their own time on the host, without those that they call: a step of one rank.",
       {"operator", "phase", "calls", "ms"},
       {}},
      [](const Profile& profile) -> const auto& { return profile.operators; },
      [](const CellProfile& of, const OperatorRow& row) {
        const double count = of.per_step(row.time.count);
        return std::vector<HtmlCell>{row.name, row.phase, HtmlCell(significant(count), count),
                                     ms_cell(of.per_step(row.cost.self_ns))};
      });
}

}  // namespace

std::string profile_html(const Study& study) {
  const std::vector<CellProfile> profiles = cell_profiles(study);
  if (profiles.empty()) return {};
  const auto on_gpu = std::ranges::count_if(profiles, &CellProfile::has_gpu);
  std::string out;
  if (on_gpu > 0)
    out += table(shares_table(study, profiles)) + table(calls_table(study, profiles)) +
           table(kernels_table(study, profiles));
  const bool on_cpus = std::ranges::all_of(
      profiles, [&](const CellProfile& of) { return study.runs[of.cell->measured.front()].on_cpu(); });
  if (on_gpu == 0)
    out += paragraph(
        on_cpus
            ? "The runs used CPUs: there are no calls of CUDA, copies and kernels, and so none of the shares that a "
              "GPU's profile has."
            : "No work of a GPU was recorded: another profiler (nsys, ncu) may have been attached.");
  return out + table(operators_table(study, profiles)) +
         paragraph(
             "Steps take longer while they are recorded: where they are among the measured ones, rates are lower than "
             "those of a run without a profile. All tables of a run, by rank: multicard-post profile RESULTS.h5 --run "
             "NAME.");
}

}  // namespace multicard::post
