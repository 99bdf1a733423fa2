#include "run/LiveFindings.hpp"

#include <algorithm>
#include <numeric>

#include "findings/RankResources.hpp"
#include "findings/RunFacts.hpp"
#include "findings/RunRules.hpp"

namespace multicard {

std::vector<WatchedFinding> findings_from(const FindingInput& evidence) {
  std::vector<std::size_t> steps(evidence.newest.times.at("step").length);
  std::iota(steps.begin(), steps.end(), std::size_t{0});
  RunFacts facts = facts_of(evidence.newest, steps);
  facts.loading.read_rows = evidence.rows_read;
  facts.rows_per_rank /= static_cast<double>(evidence.num_ranks);
  double data = 0, least_reduce = 1;
  const auto num_known = static_cast<std::int64_t>(evidence.ranks.size());
  facts.ranks.assign(evidence.ranks.size(), {});
  for (std::size_t i = 0; i < evidence.ranks.size(); ++i) {
    const WatchedRank& rank = evidence.ranks[i];
    data += rank.data_share / static_cast<double>(num_known);
    least_reduce = std::min(least_reduce, rank.reduce_share);
    facts.ranks[i].core_wait = rank.core_wait_share;
    facts.ranks[i].throttled = rank.throttled;
    if (const auto samples = evidence.slowness.find(rank.rank); samples != evidence.slowness.end())
      facts.ranks[i].slowness = estimate_of_steps({samples->second.begin(), samples->second.end()});
  }
  if (num_known == evidence.num_ranks && num_known > 1) facts.exposed = least_reduce;
  if (num_known > 1) facts.data_wait = data;
  std::vector<WatchedFinding> found;
  for (const Finding& finding : findings_of(facts)) {
    const auto share = finding.evidence.all().find("share");
    found.push_back(
        {finding.id, finding.text, finding.setting, share == finding.evidence.all().end() ? kNone : share->second});
  }
  return found;
}

}  // namespace multicard
