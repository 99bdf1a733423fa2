#include "postproc/trace/TraceReport.hpp"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/BuildInfo.hpp"
#include "base/Error.hpp"
#include "base/JsonText.hpp"
#include "base/Text.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/page/PageFiles.hpp"
#include "postproc/page/PageFrame.hpp"
#include "postproc/page/TextTable.hpp"
#include "postproc/trace/ProfileAnswer.hpp"
#include "postproc/trace/ReportFiles.hpp"
#include "postproc/trace/TraceTables.hpp"
#include "profile/trace/TraceProfile.hpp"
#include "profile/trace/TraceReader.hpp"
#include "results/ProfileTables.hpp"
#include "results/ResultsReader.hpp"

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

ProfiledRank read_trace_of_rank(const std::string& file, std::size_t place, JobOfTraces& job,
                                std::vector<std::string>& notices) {
  const Trace trace = read_trace(file);
  ProfiledRank rank{file, trace.num_events, profile_of(trace, static_cast<std::int64_t>(place))};
  job.add(file, rank.profile.rank, trace);
  notices.insert(notices.end(), trace.notices.begin(), trace.notices.end());
  if (rank.profile.calls.empty() && rank.profile.gpus.empty())
    notices.push_back(file + ": no call and no work of a GPU; the profiler recorded the host alone");
  else if (rank.profile.gpus.empty())
    notices.push_back(file + ": calls, but no work of a GPU; another profiler (nsys, ncu) may have been attached");
  return rank;
}

/// The run that is asked for, or the only one that has a profile.
RunData run_with_profile(const ResultsFile& file, const std::string& run) {
  const std::vector<std::string> names = file.run_names();
  if (!run.empty()) {
    if (std::ranges::find(names, run) == names.end())
      throw UsageError(fmt::format("{} has no run {}", file.path(), run), "", "It has " + join(names, ", ") + ".");
    return file.run(run);
  }
  std::vector<std::string> profiled;
  for (const std::string& name : names)
    if (!read_profiles(file.run(name).summary.tables).empty()) profiled.push_back(name);
  if (profiled.empty())
    throw UsageError(file.path() + " has no profile", "", "Run the deck with profile.enabled=true.");
  if (profiled.size() > 1)
    throw UsageError(fmt::format("{} has the profiles of {}", file.path(), counted(profiled.size(), "run")), "",
                     "Name one with --run: " + join(profiled, ", ") + ".");
  return file.run(profiled.front());
}

/// Why the shares of calls, copies and kernels are absent.
std::string no_gpu_notice(const RunData& run, const std::vector<std::string>& ranks) {
  if (run.clock == "host")
    return "the run used CPUs: there are no calls of CUDA, kernels and copies, and no shares of them";
  return fmt::format("no work of a GPU was recorded of rank {}: another profiler (nsys, ncu) may have been attached",
                     join(ranks, ", "));
}

std::vector<Profile> profiles_of(const ProfileSet& set) {
  std::vector<Profile> profiles;
  profiles.reserve(set.ranks.size());
  for (const ProfiledRank& rank : set.ranks)
    profiles.push_back(rank.profile);
  return profiles;
}

std::string sources_of(const ProfileSet& set) {
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
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const ProfiledRank& rank : set.ranks) {
    nlohmann::ordered_json one{{"rank", rank.profile.rank}, {"file", rank.file}};
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

ProfileSet read_traces(const std::vector<std::string>& files) {
  ProfileSet set{"trace", files.size() == 1 ? files.front() : counted(files.size(), "rank"), {}, {}};
  JobOfTraces job;
  for (std::size_t i = 0; i < files.size(); ++i)
    set.ranks.push_back(read_trace_of_rank(files[i], i, job, set.notices));
  job.require_ranks_within();
  std::ranges::sort(set.ranks, {}, [](const ProfiledRank& rank) { return rank.profile.rank; });
  return set;
}

ProfileSet read_run_profile(const std::string& file, const std::string& run) {
  require_no_trace(file);
  const ResultsFile results = ResultsFile::open(file);
  const RunData data = run_with_profile(results, run);
  ProfileSet set{"profile", fmt::format("{} of {}", data.summary.name, file), {}, {}};
  std::vector<std::string> without_gpu;
  for (Profile& profile : read_profiles(data.summary.tables)) {
    if (profile.gpus.empty()) without_gpu.push_back(std::to_string(profile.rank));
    set.ranks.push_back({file, std::nullopt, std::move(profile)});
  }
  if (set.ranks.empty())
    throw UsageError(fmt::format("the run {} of {} has no profile", data.summary.name, file), "",
                     "Run the deck with profile.enabled=true.");
  if (!without_gpu.empty()) set.notices.push_back(no_gpu_notice(data, without_gpu));
  return set;
}

void filter(ProfileSet& set, ProvenanceFilter by) {
  set.subject = by.filtered(set.subject);
  for (ProfiledRank& rank : set.ranks)
    rank.file = by.filtered(rank.file);
  for (std::string& notice : set.notices)
    notice = by.filtered(notice);
}

std::string profile_text(const ProfileSet& set, std::size_t most, std::optional<std::size_t> columns) {
  std::string out;
  for (const ProfileTable& table : profile_tables(profiles_of(set), most)) {
    if (table.text.size() < 2) continue;
    out += table.heading + "\n" + aligned({table.text, {}, {}}, columns) + "\n";
  }
  return out;
}

std::vector<std::string> profile_table_names() {
  std::vector<std::string> names;
  for (const ProfileTable& table : profile_tables({}, 0))
    names.push_back(table.id);
  return names;
}

std::string profile_csv(const ProfileSet& set, const std::string& table) {
  const std::vector<ProfileTable> tables = profile_tables(profiles_of(set), 0);
  return std::ranges::find(tables, table, &ProfileTable::id)->csv;
}

std::string profile_json(const ProfileSet& set) {
  return json_text(json_of(set, profile_tables(profiles_of(set), 0)), 2) + "\n";
}

std::string write_profile_report(const ProfileSet& set, const std::string& folder) {
  const std::vector<ProfileTable> tables = profile_tables(profiles_of(set), 0);
  std::vector<PageFile> pages;
  pages.reserve(tables.size() + 2);
  for (const ProfileTable& table : tables)
    pages.push_back({table.id + ".csv", table.csv});
  pages.push_back({set.kind + ".json", json_text(json_of(set, tables), 2) + "\n"});
  const std::string subject = "Profile of " + set.subject, answer = profile_answer(profiles_of(set));
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
