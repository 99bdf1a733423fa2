#include "findings/RunFacts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "findings/RankResources.hpp"
#include "findings/RankTimes.hpp"
#include "results/DeckText.hpp"
#include "results/ProfileTables.hpp"

namespace multicard {

namespace {

using Steps = std::vector<std::size_t>;
using Times = RankMatrix<double>;

const Times* find_times(const RunData& run, const char* column) {
  const auto found = run.times.find(column);
  return found == run.times.end() ? nullptr : &found->second;
}

/// Of steps in which a rank may be absent.
double sum_over_ranks(const Times& times, const Steps& steps) {
  double sum = 0;
  for (std::size_t rank = 0; rank < times.ranks; ++rank)
    for (const std::size_t i : steps)
      if (std::isfinite(times.at(rank, i))) sum += times.at(rank, i);
  return sum;
}

double data_wait(const RunData& run, const Steps& measured) {
  const Times *step = find_times(run, "step"), *wait = find_times(run, "data_wait");
  return step && wait ? sum_over_ranks(*wait, measured) / sum_over_ranks(*step, measured) : kNone;
}

double exposed(const RunData& run, const Steps& measured) {
  const Times *step = find_times(run, "step"), *wait = find_times(run, "reduce_wait");
  if (!step || !wait || step->ranks < 2) return kNone;
  const Steps whole = whole_steps(run, measured);
  double least_waits = 0;
  for (const std::size_t i : whole) {
    double least = wait->at(0, i);
    for (std::size_t rank = 1; rank < wait->ranks; ++rank)
      least = std::min(least, wait->at(rank, i));
    least_waits += least;
  }
  return least_waits * static_cast<double>(step->ranks) / sum_over_ranks(*step, whole);
}

std::vector<RankFacts> ranks_of(const std::vector<RankResources>& resources, const std::vector<RankReport>& times) {
  std::vector<RankFacts> ranks(std::max(times.size(), resources.size()));
  for (std::size_t rank = 0; rank < times.size(); ++rank)
    ranks[rank].slowness = times[rank].slowness;
  for (std::size_t rank = 0; rank < resources.size(); ++rank) {
    ranks[rank].core_wait = resources[rank].core_wait;
    ranks[rank].throttled = resources[rank].gpu_throttled;
  }
  return ranks;
}

/// The sum of a column over the rows with this name; unknown without any.
double stage_total(const RankTable& stages, const char* stage, const char* column) {
  const auto row = stages.rows.find({stage});
  if (row == stages.rows.end()) return kNone;
  const auto value = row->second.find(column);
  return value == row->second.end() ? kNone : value->second;
}

/// Every rank reads its own rows, under ddp those of all.
double rows_read(const RunData& run, const std::string& strategy) {
  const auto samples = run.counts.find("samples");
  if (samples == run.counts.end()) return kNone;
  double rows = 0;
  for (const std::int64_t count : samples->second.values)
    rows += static_cast<double>(count);
  return strategy == "ddp" ? rows * run.ranks : rows;
}

LoadingFacts loading_of(const RunData& run, const std::string& strategy) {
  const auto table = run.summary.tables.find("input/stages");
  if (table == run.summary.tables.end() || !is_of_ranks(table->second)) return {};
  LoadingFacts loading{0, 0, 0, rows_read(run, strategy)};
  const auto add = [](double& total, double value) { total += std::isfinite(value) ? value : 0; };
  for (const auto& [rank, stages] : tables_by_rank(table->second)) {
    add(loading.read_s, stage_total(stages, "read", "seconds"));
    add(loading.read_bytes, stage_total(stages, "read", "bytes"));
    add(loading.transform_s, stage_total(stages, "transform", "seconds"));
  }
  return loading;
}

AllReduceFacts all_reduces_of(const RunData& run) {
  const auto found = run.communication.find("all_reduce");
  if (found == run.communication.end() || run.num_steps == 0) return {};
  CommunicationTotals most;  // of the rank with the most
  for (const CommunicationTotals& rank : found->second)
    if (rank.calls > most.calls) most = rank;
  if (most.calls == 0) return {};
  return {static_cast<double>(most.calls) / static_cast<double>(run.num_steps),
          static_cast<double>(most.payload_bytes) / static_cast<double>(most.calls)};
}

std::vector<LinkFacts> links_of(const RunData& run) {
  std::vector<LinkFacts> links;
  const auto table = run.summary.tables.find("links/received");
  if (table == run.summary.tables.end() || !is_of_ranks(table->second)) return links;
  for (const auto& [to, received] : tables_by_rank(table->second))
    for (const auto& [from, columns] : received.rows) {
      const auto bytes = columns.find("bytes"), seconds = columns.find("seconds");
      if (bytes == columns.end() || seconds == columns.end() || !(seconds->second > 0)) continue;
      links.push_back({std::atoi(from.front().c_str()), to, bytes->second / seconds->second});
    }
  return links;
}

/// A profile knows which gaps ended with a late launch; of other runs what data do not explain.
double gpu_gaps(const std::vector<Profile>& profiles, const std::vector<RankResources>& resources, double data_wait) {
  double span = 0, gaps = 0;
  for (const Profile& profile : profiles) {
    const auto most = std::ranges::max_element(profile.streams, {}, &StreamRow::busy);
    if (most == profile.streams.end()) continue;
    span += static_cast<double>(most->span);
    gaps += static_cast<double>(most->host_bound_ns);
  }
  if (span > 0) return gaps / span;
  std::vector<double> idle;
  for (const RankResources& rank : resources)
    if (std::isfinite(rank.gpu_busy)) idle.push_back(1 - rank.gpu_busy);
  return idle.empty() ? kNone : mean(idle) - data_wait;
}

/// After the first update that was not skipped: the skips before it are how the loss scale is found.
void count_updates(const RunSummary& summary, RunFacts& facts) {
  const auto metric = summary.metrics.find("skipped");
  if (metric == summary.metrics.end()) return;
  const std::vector<double>& skipped = metric->second.values;
  const auto is_skipped = [](double value) { return value > 0; };
  const auto first = std::ranges::find_if_not(skipped, is_skipped);
  facts.num_updates = skipped.end() - first;
  facts.num_skipped = std::count_if(first, skipped.end(), is_skipped);
}

double attribute(const RunSummary& summary, const char* name) {
  const auto found = summary.integers.find(name);
  return found == summary.integers.end() ? kNone : static_cast<double>(found->second);
}

void add_memory(const RunData& run, RunFacts& facts) {
  const auto peak = run.memory.find("device_peak_bytes");
  if (peak != run.memory.end() && !peak->second.empty())
    facts.device_peak_bytes = static_cast<double>(*std::ranges::max_element(peak->second));
  facts.device_bytes = attribute(run.summary, "device_memory_bytes");
  facts.rows_per_rank = attribute(run.summary, "global_batch") / run.ranks;
  facts.rows_at_once = attribute(run.summary, "micro_batch");
}

}  // namespace

std::string RunFacts::setting(const std::string& path) const {
  const auto found = settings.find(path);
  return found == settings.end() ? std::string() : found->second;
}

RunFacts facts_of(const RunData& run, const std::vector<std::size_t>& measured) {
  if (measured.empty()) return {};
  return facts_of(run, measured, compare_ranks(run, measured), read_profiles(run.summary.tables));
}

RunFacts facts_of(const RunData& run, const std::vector<std::size_t>& measured, const std::vector<RankReport>& times,
                  const std::vector<Profile>& profiles) {
  RunFacts facts;
  facts.num_steps = static_cast<std::int64_t>(measured.size());
  if (measured.empty()) return facts;
  if (const auto deck = run.summary.text.find("deck"); deck != run.summary.text.end())
    facts.settings = deck_values(deck->second);
  // What stands in for auto, before its reason.
  if (const auto chosen = run.summary.text.find("chosen_shard"); chosen != run.summary.text.end())
    facts.settings["parallel.shard"] = chosen->second.substr(0, chosen->second.find(' '));
  const std::vector<RankResources> resources = reduce_resources(run);
  facts.ranks = ranks_of(resources, times);
  facts.data_wait = data_wait(run, measured);
  facts.exposed = exposed(run, measured);
  facts.loading = loading_of(run, facts.setting("parallel.strategy"));
  facts.all_reduce = all_reduces_of(run);
  facts.links = links_of(run);
  facts.gpu_gaps = gpu_gaps(profiles, resources, facts.data_wait);
  count_updates(run.summary, facts);
  add_memory(run, facts);
  return facts;
}

}  // namespace multicard
