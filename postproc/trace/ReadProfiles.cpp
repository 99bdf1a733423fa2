#include "postproc/trace/ReadProfiles.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Number.hpp"
#include "base/Text.hpp"
#include "postproc/reduce/ProfileSum.hpp"
#include "postproc/trace/RecordedSteps.hpp"
#include "postproc/trace/ReportFiles.hpp"
#include "postproc/trace/TraceTables.hpp"
#include "profile/trace/TraceProfile.hpp"
#include "profile/trace/TraceReader.hpp"
#include "results/ProfileTables.hpp"
#include "results/ResultsReader.hpp"

namespace multicard::post {

namespace {

/// More ranks than that are shown as their sum, unless some are chosen.
constexpr std::size_t kMostRanks = 8;

ProfiledRank read_trace_of_rank(const std::string& file, std::size_t place, JobOfTraces& job,
                                std::vector<std::string>& notices) {
  const Trace trace = read_trace(file);
  ProfiledRank rank{file, trace.num_events, profile_of(trace, static_cast<std::int64_t>(place))};
  job.add(file, rank.profile.rank, trace);
  notices.insert(notices.end(), trace.notices.begin(), trace.notices.end());
  if (trace.num_events == 0)
    notices.push_back(file + ": it has no events; the profiler recorded nothing");
  else if (rank.profile.calls.empty() && rank.profile.gpus.empty())
    notices.push_back(file + ": no call and no work of a GPU; the profiler recorded the host alone");
  else if (rank.profile.gpus.empty())
    notices.push_back(file + ": calls, but no work of a GPU; another profiler (nsys, ncu) may have been attached");
  return rank;
}

constexpr const char* kProfile = "profile";

bool has_profile(const RunData& run) {
  return std::ranges::any_of(run.summary.tables, [](const auto& table) { return is_of_ranks(table.second); });
}

/// The run that is asked for, or the only one that has a profile: its tables of that.
RunData run_with_profile(const ResultsFile& file, const std::string& run) {
  const std::vector<std::string> names = file.run_names();
  if (!run.empty()) {
    if (std::ranges::find(names, run) == names.end())
      throw UsageError(fmt::format("{} has no run {}", file.path(), run), "", "It has " + join(names, ", ") + ".");
    return file.run_with_tables(run, kProfile);
  }
  std::optional<RunData> found;
  std::vector<std::string> profiled;
  for (const std::string& name : names) {
    RunData data = file.run_with_tables(name, kProfile);
    if (!has_profile(data)) continue;
    profiled.push_back(name);
    if (!found) found = std::move(data);
  }
  if (profiled.empty())
    throw UsageError(file.path() + " has no profile", "", "Run the deck with profile.enabled=true.");
  if (profiled.size() > 1)
    throw UsageError(fmt::format("{} has the profiles of {}", file.path(), counted(profiled.size(), "run")), "",
                     "Name one with --run: " + join(profiled, ", ") + ".");
  return std::move(*found);
}

/// Why the shares of calls, copies and kernels are absent.
std::string no_gpu_notice(const RunData& run, const std::vector<std::int64_t>& ranks) {
  if (run.clock == "host")
    return "the run used CPUs: there are no calls of CUDA, kernels and copies, and no shares of them";
  return fmt::format("no work of a GPU was recorded of rank {}: another profiler (nsys, ncu) may have been attached",
                     rank_list(ranks));
}

std::vector<std::int64_t> profiled_ranks(const RunData& run) {
  std::set<std::int64_t> ranks;
  for (const auto& [path, table] : run.summary.tables)
    if (is_of_ranks(table)) ranks.insert(table.integers.at("rank").begin(), table.integers.at("rank").end());
  return {ranks.begin(), ranks.end()};
}

void require_ranks(const std::string& file, const std::vector<std::int64_t>& chosen,
                   const std::vector<std::int64_t>& known) {
  for (const std::int64_t rank : chosen)
    if (!std::ranges::binary_search(known, rank))
      throw UsageError(fmt::format("{} has no profile of rank {}", file, rank), "",
                       fmt::format("It has those of {} {}.", known.size() == 1 ? "rank" : "ranks", rank_list(known)));
}

}  // namespace

RankChoice rank_choice(const std::vector<std::string>& words) {
  RankChoice choice;
  for (const std::string& word : words) {
    const auto rank = parse_number<std::int64_t>(word);
    if (word == "all")
      choice.is_every = true;
    else if (rank && *rank >= 0)
      choice.ranks.push_back(*rank);
    else
      throw UsageError(fmt::format("--rank is {}", word), "it is the number of a rank, or 'all'");
  }
  return choice;
}

ProfileSet read_traces(const std::vector<std::string>& files) {
  ProfileSet set{"trace", files.size() == 1 ? files.front() : counted(files.size(), "rank")};
  JobOfTraces job;
  for (std::size_t i = 0; i < files.size(); ++i)
    set.ranks.push_back(read_trace_of_rank(files[i], i, job, set.notices));
  job.require_ranks_within();
  std::ranges::sort(set.ranks, {}, [](const ProfiledRank& rank) { return rank.profile.rank; });
  for (const ProfiledRank& rank : set.ranks)
    set.recorded.push_back({rank.profile.rank, rank.profile.num_steps});
  return set;
}

ProfileSet read_run_profile(const std::string& file, const std::string& run, const RankChoice& choice) {
  const ResultsFile results = ResultsFile::open(file);
  const RunData data = run_with_profile(results, run);
  ProfileSet set{kProfile, fmt::format("{} of {}", data.summary.name, file)};
  const std::vector<std::int64_t> known = profiled_ranks(data);
  if (known.empty())
    throw UsageError(fmt::format("the run {} of {} has no profile", data.summary.name, file), "",
                     "Run the deck with profile.enabled=true.");
  require_ranks(file, choice.ranks, known);
  const bool picks = !choice.ranks.empty() && !choice.is_every;
  set.is_sum = !picks && !choice.is_every && known.size() > kMostRanks;
  std::vector<std::int64_t> without_gpu;
  ProfileAdder adder;
  for_each_profile(data.summary.tables, [&](Profile profile) {
    if (picks && std::ranges::find(choice.ranks, profile.rank) == choice.ranks.end()) return;
    if (profile.gpus.empty()) without_gpu.push_back(profile.rank);
    set.recorded.push_back({profile.rank, profile.num_steps});
    if (set.is_sum)
      adder.add(profile, profile.num_steps);
    else
      set.ranks.push_back({file, std::nullopt, std::move(profile)});
  });
  if (set.is_sum) {
    ProfileSum sum = adder.take();
    sum.total.rank = kAllRanks;
    sum.total.num_steps = sum.rank_steps;
    set.ranks.push_back({file, std::nullopt, std::move(sum.total)});
  }
  for (ProfiledRank& rank : set.ranks) {
    sort_rows(rank.profile);
    if (!rank.profile.gpus.empty()) add_shares(rank.profile);
  }
  if (!without_gpu.empty()) set.notices.push_back(no_gpu_notice(data, without_gpu));
  return set;
}

}  // namespace multicard::post
