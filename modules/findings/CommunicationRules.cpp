#include "findings/CommunicationRules.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "findings/RuleParts.hpp"

namespace multicard {

namespace {

/// Whether transfers cost a noticeable part of the step, on ranks that have cores.
bool waits_for_transfers(const RunFacts& facts) {
  return is_noticeable(facts.exposed) && !lacks_cores(facts);
}

/// Their gradients are not in buckets; with `optimizer` those of blocks that are trained (splits_trained_blocks()).
bool splits_weights(const RunFacts& facts) {
  const std::string shard = facts.setting("parallel.shard"), method = facts.setting("method.name");
  const bool trains_blocks = method == "full" || method == "dpo" || method == "qat";
  const bool has_average = !facts.setting("run.ema_decay").empty() && facts.setting("run.ema_decay") != "0";
  return shard == "full" || shard == "hybrid" || (shard == "optimizer" && trains_blocks && !has_average);
}

/// Buckets whose size the program has chosen are not too small: what is small then are other all-reduces, such as those
/// of synchronised batch norm.
bool has_small_buckets(const RunFacts& facts) {
  const AllReduceFacts& all_reduce = facts.all_reduce;
  const std::string size = facts.setting("parallel.bucket_mb");
  return size != "auto" && size != "measured" && !splits_weights(facts) &&
         all_reduce.calls_per_step >= kManyAllReduces && all_reduce.bytes_per_call < kSmallBucketBytes;
}

/// The slowest link between nodes, and the rate that most others reach: of links in one direction of a slow network
/// card half may be slow.
struct SlowestLink {
  LinkFacts link;
  double usual = kNone;

  bool is_slow() const { return link.bytes_per_s < kSlowLinkShare * usual; }
};

SlowestLink slowest_link(std::vector<LinkFacts> links) {
  if (links.size() < 2) return {};
  std::ranges::sort(links, {}, &LinkFacts::bytes_per_s);
  const auto third_quartile = static_cast<std::size_t>(std::ceil(0.75 * static_cast<double>(links.size() - 1)));
  return {links.front(), links[third_quartile].bytes_per_s};
}

/// The cheapest that is not done yet. On CPUs of one node gradients of 16 bits save nothing.
Advice advice_for_communication(const RunFacts& facts) {
  if (facts.setting("parallel.strategy") == "dp")
    return {"parallel.strategy", "parallel.strategy=ddp-ds, which sends no parameters"};
  if (!splits_weights(facts) && facts.setting("parallel.overlap") == "false")
    return {"parallel.overlap", "parallel.overlap=true, which sends gradients while others are computed"};
  const bool sends_far = is_on_gpu(facts) || !facts.links.empty();
  if (sends_far && facts.setting("parallel.gradient_dtype") == "same")
    return {"parallel.gradient_dtype", "parallel.gradient_dtype=bf16, which halves the bytes"};
  const char* const key = batch_key(facts);
  return {key, fmt::format("a larger {}, so that a step computes more for as many bytes", key)};
}

}  // namespace

Finding slow_link(const RunFacts& facts) {
  const SlowestLink slowest = slowest_link(facts.links);
  if (!waits_for_transfers(facts) || !slowest.is_slow()) return {};
  return {
      fmt::format("All ranks wait {} of the time for transfers between them, and what rank {} sends comes to rank {} "
                  "at {}/s, where other links between nodes carry {}/s: look at the network of the node of rank {}.",
                  percent(facts.exposed), slowest.link.from, slowest.link.to, human_bytes(slowest.link.bytes_per_s),
                  human_bytes(slowest.usual), slowest.link.from),
      {{"share", facts.exposed},
       {"from_rank", slowest.link.from},
       {"to_rank", slowest.link.to},
       {"bytes_per_s", slowest.link.bytes_per_s},
       {"usual_bytes_per_s", slowest.usual}},
      "slow_link"};
}

Finding small_buckets(const RunFacts& facts) {
  const AllReduceFacts& all_reduce = facts.all_reduce;
  if (!waits_for_transfers(facts) || !has_small_buckets(facts)) return {};
  return {fmt::format("Buckets are small: {} all-reduces a step of {} on average, for which all ranks wait {} of the "
                      "time: try parallel.bucket_mb=auto.",
                      significant(all_reduce.calls_per_step, 3), human_bytes(all_reduce.bytes_per_call),
                      percent(facts.exposed)),
          {{"share", facts.exposed},
           {"calls_per_step", all_reduce.calls_per_step},
           {"bytes_per_call", all_reduce.bytes_per_call}},
          "small_buckets",
          Severity::notice,
          "parallel.bucket_mb"};
}

Finding exposed_communication(const RunFacts& facts) {
  if (!waits_for_transfers(facts) || has_small_buckets(facts) || slowest_link(facts.links).is_slow()) return {};
  const Advice advice = advice_for_communication(facts);
  return {fmt::format("All ranks wait {} of the time for transfers between them: try {}.", percent(facts.exposed),
                      advice.text),
          {{"share", facts.exposed}},
          "exposed_communication",
          Severity::notice,
          advice.key};
}

}  // namespace multicard
