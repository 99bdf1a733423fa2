#include "postproc/trace/TraceReport.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/BuildInfo.hpp"
#include "base/JsonText.hpp"
#include "base/Text.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/page/PageFiles.hpp"
#include "postproc/page/PageFrame.hpp"
#include "postproc/page/TextTable.hpp"
#include "postproc/trace/ProfileAnswer.hpp"
#include "postproc/trace/RecordedSteps.hpp"
#include "postproc/trace/ReportFiles.hpp"
#include "postproc/trace/TraceTables.hpp"

namespace multicard::post {

namespace {

constexpr const char* kNoEventDestroy =
    "cudaEventDestroy is not recorded by the profiler (nor are cudaEventCreate, cudaGetDevice, cudaSetDevice and "
    "cudaGetLastError): its share is unknown, and the total of all calls lacks them.";
constexpr const char* kOwnEventDestroy =
    "Calls of cudaEventDestroy, by multicard and LibTorch, were timed by the program itself; all others by CUPTI, "
    "which records neither cudaEventDestroy nor cudaEventCreate, cudaGetDevice, cudaSetDevice and cudaGetLastError: "
    "the total of all calls lacks the last four.";

/// Where the figures of cudaEventDestroy come from.
const char* source_of_event_destroy(const ProfileSet& set) {
  const auto is_known = [](const ProfiledRank& rank) {
    return std::ranges::all_of(rank.profile.shares,
                               [](const ShareRow& row) { return row.name != "cudaEventDestroy" || row.is_recorded; });
  };
  return std::ranges::all_of(set.ranks, is_known) ? kOwnEventDestroy : kNoEventDestroy;
}

std::vector<const Profile*> profiles_of(const ProfileSet& set) {
  std::vector<const Profile*> profiles;
  profiles.reserve(set.ranks.size());
  for (const ProfiledRank& rank : set.ranks)
    profiles.push_back(&rank.profile);
  return profiles;
}

std::string sources_of(const ProfileSet& set) {
  if (set.is_sum) return fmt::format("{}: {}", set.ranks.front().file, recorded_text(set.recorded));
  std::vector<std::string> parts;
  parts.reserve(set.ranks.size());
  for (const ProfiledRank& rank : set.ranks) {
    std::string part = fmt::format("rank {}: {}", rank.profile.rank, rank.file);
    if (rank.num_events) part += ", " + counted(*rank.num_events, "event");
    if (rank.profile.num_steps > 0) part += ", " + counted(rank.profile.num_steps, "step");
    parts.push_back(std::move(part));
  }
  return join(parts, "; ");
}

std::vector<PagePart> parts_of(const ProfileSet& set, const std::vector<ProfileTable>& tables) {
  std::vector<PagePart> parts;
  for (const ProfileTable& of : tables) {
    if (of.page.rows.empty()) continue;
    std::string html = table(of.page, Caption::name);
    if (of.id == "shares") html += paragraph(source_of_event_destroy(set));
    parts.push_back({of.id, of.heading, html});
  }
  return parts;
}

/// Null for what was not recorded.
nlohmann::ordered_json known(bool is_recorded, std::int64_t value) {
  return is_recorded ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json json_of(const ProfileSet& set, const std::vector<ProfileTable>& tables) {
  nlohmann::ordered_json out{{"format", "multicard-" + set.kind}, {"schema_version", 1}};
  if (set.is_sum) out["added_ranks"] = set.recorded.size();
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const ProfiledRank& rank : set.ranks) {
    nlohmann::ordered_json one{{"rank", known(!set.is_sum, rank.profile.rank)}, {"file", rank.file}};
    if (rank.num_events) one["events"] = *rank.num_events;
    one["steps"] = known(rank.profile.num_steps > 0, rank.profile.num_steps);
    if (rank.profile.window_ns > 0) one["window_ns"] = rank.profile.window_ns;
    one["api_ns"] = known(rank.profile.has_calls(), rank.profile.api_ns);
    one["kernel_ns"] = known(rank.profile.has_gpu_work(), rank.profile.kernel_ns);
    one["copy_ns"] = known(rank.profile.has_gpu_work(), rank.profile.copy_ns);
    one["kernels_without_launch"] = known(rank.profile.has_gpu_work(), rank.profile.delays.unmatched);
    ranks.push_back(std::move(one));
  }
  out["ranks"] = std::move(ranks);
  out["notices"] = set.notices;
  for (const ProfileTable& table : tables)
    out[table.id] = table.json;
  return out;
}

}  // namespace

void filter(ProfileSet& set, ProvenanceFilter by) {
  set.subject = by.filtered(set.subject);
  for (ProfiledRank& rank : set.ranks)
    rank.file = by.filtered(rank.file);
  for (std::string& notice : set.notices)
    notice = by.filtered(notice);
}

std::string profile_text(const ProfileSet& set, std::size_t most, std::optional<std::size_t> columns) {
  std::string out;
  if (const std::string recorded = recorded_text(set.recorded); !recorded.empty()) {
    out = fmt::format("Recorded: {}.", recorded);
    if (set.is_sum) out += " The tables add them up: --rank N shows one of them, --rank all each.";
    out += "\n\n";
  }
  for (const ProfileTable& table : profile_tables(profiles_of(set), {kTerminal, most})) {
    if (table.text.size() < 2) continue;
    out += table.heading + "\n" + aligned({table.text, {}, {}}, columns) + "\n";
  }
  return out;
}

std::vector<std::string> profile_table_names() {
  std::vector<std::string> names;
  for (const ProfileTable& table : profile_tables({}, {}))
    names.push_back(table.id);
  return names;
}

std::string profile_csv(const ProfileSet& set, const std::string& table) {
  const std::vector<ProfileTable> tables = profile_tables(profiles_of(set), {.outputs = kCsv, .only = table});
  return std::ranges::find(tables, table, &ProfileTable::id)->csv;
}

std::string profile_json(const ProfileSet& set) {
  return json_text(json_of(set, profile_tables(profiles_of(set), {kJson})), 2) + "\n";
}

std::string write_profile_report(const ProfileSet& set, const std::string& folder) {
  const std::vector<ProfileTable> tables = profile_tables(profiles_of(set), {kCsv | kJson | kPage});
  std::vector<PageFile> pages;
  pages.reserve(tables.size() + 2);
  for (const ProfileTable& table : tables)
    pages.push_back({table.id + ".csv", table.csv});
  pages.push_back({set.kind + ".json", json_text(json_of(set, tables), 2) + "\n"});
  const std::string subject = "Profile of " + set.subject,
                    answer = profile_answer(profiles_of(set), set.recorded.size());
  pages.push_back({set.kind + ".html",
                   html_page({answer.empty() ? subject : answer, answer.empty() ? std::string() : subject,
                              fmt::format("{}. Report by multicard-post {}.", sources_of(set), build_info().version)},
                             set.notices, parts_of(set, tables))});
  const std::filesystem::path to(folder);
  require_no_other_report(to, set.kind);
  write_pages(to, pages);
  return (to / (set.kind + ".html")).string();
}

}  // namespace multicard::post
