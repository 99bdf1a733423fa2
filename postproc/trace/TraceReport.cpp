#include "postproc/trace/TraceReport.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

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
#include "postproc/trace/TraceTables.hpp"
#include "profile/trace/TraceProfile.hpp"
#include "profile/trace/TraceReader.hpp"

namespace multicard::post {

namespace {

constexpr const char* kNoEventDestroy =
    "cudaEventDestroy is not recorded by the profiler (nor are cudaEventCreate, cudaGetDevice, cudaSetDevice and "
    "cudaGetLastError): its share is unknown, and the total of all calls lacks them.";

TracedRank read_rank(const std::string& file, std::size_t place) {
  const Trace trace = read_trace(file);
  TracedRank rank{file, trace.num_events, trace.notices, profile_of(trace, static_cast<std::int64_t>(place))};
  if (rank.profile.calls.empty() && rank.profile.gpus.empty())
    rank.notices.push_back(file + ": no call and no work of a GPU; the profiler recorded the host alone");
  else if (rank.profile.gpus.empty())
    rank.notices.push_back(file + ": calls, but no work of a GPU; another profiler (nsys, ncu) may have been attached");
  return rank;
}

std::vector<Profile> profiles_of(const std::vector<TracedRank>& ranks) {
  std::vector<Profile> profiles;
  profiles.reserve(ranks.size());
  for (const TracedRank& rank : ranks)
    profiles.push_back(rank.profile);
  return profiles;
}

std::string traced(const std::vector<TracedRank>& ranks) {
  std::vector<std::string> parts;
  parts.reserve(ranks.size());
  for (const TracedRank& rank : ranks)
    parts.push_back(fmt::format("rank {}: {}, {}{}", rank.profile.rank, rank.file, counted(rank.num_events, "event"),
                                rank.profile.num_steps > 0 ? ", " + counted(rank.profile.num_steps, "step") : ""));
  return join(parts, "; ");
}

std::vector<std::string> notices_of(const std::vector<TracedRank>& ranks) {
  std::vector<std::string> notices;
  for (const TracedRank& rank : ranks)
    notices.insert(notices.end(), rank.notices.begin(), rank.notices.end());
  return notices;
}

std::vector<PagePart> parts_of(const std::vector<ProfileTable>& tables) {
  std::vector<PagePart> parts;
  for (const ProfileTable& of : tables) {
    if (of.page.rows.empty()) continue;
    std::string html = table(of.page);
    if (of.id == "shares") html += paragraph(kNoEventDestroy);
    parts.push_back({of.id, of.heading, html});
  }
  return parts;
}

nlohmann::ordered_json json_of(const std::vector<TracedRank>& ranks, const std::vector<ProfileTable>& tables) {
  nlohmann::ordered_json out{{"format", "multicard-trace"}, {"schema_version", 1}};
  out["traces"] = nlohmann::ordered_json::array();
  for (const TracedRank& rank : ranks)
    out["traces"].push_back({{"rank", rank.profile.rank},
                             {"file", rank.file},
                             {"events", rank.num_events},
                             {"steps", rank.profile.num_steps},
                             {"api_ns", rank.profile.api_ns},
                             {"kernel_ns", rank.profile.kernel_ns},
                             {"copy_ns", rank.profile.copy_ns},
                             {"kernels_without_launch", rank.profile.delays.unmatched},
                             {"notices", rank.notices}});
  for (const ProfileTable& table : tables)
    out[table.id] = table.json;
  return out;
}

}  // namespace

std::vector<TracedRank> read_traces(const std::vector<std::string>& files) {
  std::vector<TracedRank> ranks;
  std::map<std::int64_t, std::string> file_of;
  for (std::size_t i = 0; i < files.size(); ++i) {
    ranks.push_back(read_rank(files[i], i));
    const auto [taken, is_new] = file_of.emplace(ranks.back().profile.rank, files[i]);
    if (!is_new)
      throw UsageError(fmt::format("{} and {} are both of rank {}", taken->second, files[i], taken->first), "",
                       "Name one trace for each rank.");
  }
  std::ranges::sort(ranks, {}, [](const TracedRank& rank) { return rank.profile.rank; });
  return ranks;
}

std::string traces_text(const std::vector<TracedRank>& ranks, std::size_t most, std::optional<std::size_t> columns) {
  std::string out;
  for (const ProfileTable& table : profile_tables(profiles_of(ranks), most)) {
    if (table.text.size() < 2) continue;
    out += table.heading + "\n" + aligned({table.text, {}, {}}, columns) + "\n";
  }
  return out;
}

std::vector<std::string> trace_table_names() {
  std::vector<std::string> names;
  for (const ProfileTable& table : profile_tables({}, 0))
    names.push_back(table.id);
  return names;
}

std::string traces_csv(const std::vector<TracedRank>& ranks, const std::string& table) {
  const std::vector<ProfileTable> tables = profile_tables(profiles_of(ranks), 0);
  return std::ranges::find(tables, table, &ProfileTable::id)->csv;
}

std::string traces_json(const std::vector<TracedRank>& ranks) {
  return json_text(json_of(ranks, profile_tables(profiles_of(ranks), 0)), 2) + "\n";
}

std::string write_trace_report(const std::vector<TracedRank>& ranks, const std::string& folder) {
  const std::vector<ProfileTable> tables = profile_tables(profiles_of(ranks), 0);
  std::vector<PageFile> pages;
  pages.reserve(tables.size() + 2);
  for (const ProfileTable& table : tables)
    pages.push_back({table.id + ".csv", table.csv});
  pages.push_back({"trace.json", json_text(json_of(ranks, tables), 2) + "\n"});
  const std::string title = ranks.size() == 1 ? "Profile of " + ranks.front().file
                                              : "Profile of " + counted(static_cast<long>(ranks.size()), "rank");
  pages.push_back(
      {"trace.html",
       html_page(title, fmt::format("{}. Report by multicard-post {}.", traced(ranks), build_info().version),
                 notices_of(ranks), parts_of(tables))});
  const std::filesystem::path to(folder);
  write_pages(to, pages);
  return (to / "trace.html").string();
}

}  // namespace multicard::post
