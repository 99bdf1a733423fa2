#include "findings/RunRules.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "findings/CommunicationRules.hpp"
#include "findings/RuleParts.hpp"

namespace multicard {

namespace {

Finding oversubscribed(const RunFacts& facts) {
  if (!lacks_cores(facts)) return {};
  const RankLoss loss = core_wait(facts);
  return {fmt::format(
              "Ranks are short of CPU cores (rank {} waited for one {} of the time): look for other programs on its "
              "node, start fewer ranks there, or lower OMP_NUM_THREADS.",
              loss.rank, percent(loss.share)),
          {{"rank", loss.rank}, {"share", loss.share}},
          "oversubscribed"};
}

/// Part of a step in which the others wait for a rank; of one whose slowness has another cause, or is not certain,
/// none.
double lost_to(const RankFacts& rank) {
  const bool is_certain = rank.slowness.interval && rank.slowness.interval->low > 1;
  if (!is_certain || rank.core_wait >= kNoticeableCoreWait || is_noticeable(rank.throttled)) return kNone;
  return 1 - 1 / rank.slowness.value;
}

Finding straggler(const RunFacts& facts) {
  const RankLoss loss = largest_loss(facts, lost_to);
  if (!loss.is_noticeable()) return {};
  const double slowness = facts.ranks[loss.rank].slowness.value;
  Finding out{fmt::format("Rank {} takes {} times as long as the others for its own part of a step, and they wait {} "
                          "of the time for it: ",
                          loss.rank, significant(slowness, 3), percent(loss.share)),
              {{"rank", loss.rank}, {"share", loss.share}, {"slowness", slowness}},
              "straggler"};
  // Under dp rank 0 reads and updates for all.
  const bool is_by_design = loss.rank == 0 && facts.setting("parallel.strategy") == "dp";
  if (is_by_design) out.setting = "parallel.strategy";
  out.text += is_by_design ? "try parallel.strategy=ddp-ds, in which every rank reads and updates."
                           : "look for other programs, heat or a slower device on its node.";
  return out;
}

/// Whether reading takes longer than any usual storage would.
bool is_storage_slow(const LoadingFacts& loading) {
  const double expected = loading.read_rows * kExpectedRowSeconds + loading.read_bytes / kExpectedReadBytesPerSecond;
  return loading.read_s > expected && loading.read_s >= loading.transform_s;
}

/// Whether steps wait for data, and not because ranks have no cores.
bool waits_for_data(const RunFacts& facts) {
  return is_noticeable(facts.data_wait) && !lacks_cores(facts);
}

Finding slow_storage(const RunFacts& facts) {
  const LoadingFacts& loading = facts.loading;
  if (!waits_for_data(facts) || !is_storage_slow(loading)) return {};
  const double bytes_per_s = loading.read_bytes / loading.read_s, row_ms = 1e3 * loading.read_s / loading.read_rows;
  Finding out{fmt::format("Steps wait {} of their time for data, and storage is slow: {} ms to read a row, {}/s: copy "
                          "the shards to a local disk",
                          percent(facts.data_wait), significant(row_ms, 3), human_bytes(bytes_per_s)),
              {{"share", facts.data_wait}, {"row_ms", row_ms}, {"bytes_per_s", bytes_per_s}},
              "slow_storage"};
  if (facts.setting("data.cache") != "ram") {
    out.setting = "data.cache";
    out.text += ", or try data.cache=ram, which reads every row once";
  }
  out.text += ".";
  return out;
}

/// By what the loader's threads spend most of their time on.
Advice advice_for_input(const RunFacts& facts) {
  const LoadingFacts& loading = facts.loading;
  if (facts.setting("data.workers") == "0")
    return {"data.workers", "data.workers=auto, with which batches are made while others are computed"};
  if (loading.read_s > loading.transform_s) {
    if (facts.setting("data.cache") == "none")
      return {"data.cache", "data.cache=ram, which keeps the rows that were read in memory"};
    return {"data.prefetch", "a larger data.prefetch"};
  }
  if (facts.setting("task") == "llm") return {"data.prefetch", "a larger data.prefetch"};
  if (is_on_gpu(facts) && facts.setting("data.pipeline") == "host")
    return {"data.pipeline", "data.pipeline=device, which transforms images on the GPU"};
  return {"data.workers", "more data.workers, on cores that are free"};
}

Finding input_bound(const RunFacts& facts) {
  if (!waits_for_data(facts) || is_storage_slow(facts.loading)) return {};
  const Advice advice = advice_for_input(facts);
  return {fmt::format("Steps wait {} of their time for data: try {}.", percent(facts.data_wait), advice.text),
          {{"share", facts.data_wait}},
          "input_bound",
          Severity::notice,
          advice.key};
}

/// A GPU that gets its rows in parts could take more of them at once.
bool is_in_parts(const RunFacts& facts) {
  return facts.rows_at_once < facts.rows_per_rank;
}

Finding launch_bound(const RunFacts& facts) {
  if (!(facts.gpu_gaps >= kNoticeableGaps) || lacks_cores(facts)) return {};
  const char* const key = is_in_parts(facts) ? "run.micro_batch" : batch_key(facts);
  return {fmt::format("GPUs have nothing to do for {} of the time although data are there: the host launches kernels "
                      "more slowly than they run. Try a larger {}.",
                      percent(facts.gpu_gaps), key),
          {{"share", facts.gpu_gaps}},
          "launch_bound",
          Severity::notice,
          key};
}

Finding unused_memory(const RunFacts& facts) {
  const double used = facts.device_peak_bytes / facts.device_bytes;
  const bool recomputes = facts.setting("model.activation_checkpointing") == "true";
  // The program's own choice has left room for what it could not predict.
  const bool in_parts = is_in_parts(facts) && facts.setting("run.micro_batch") != "auto";
  if (!(used < kSpareMemoryShare) || !(recomputes || in_parts)) return {};
  return {fmt::format("Tensors take at most {} of the {} of a GPU, and {}", human_bytes(facts.device_peak_bytes),
                      human_bytes(facts.device_bytes),
                      recomputes ? "activations are computed twice to save memory: try "
                                   "model.activation_checkpointing=false."
                                 : "batches are computed in parts: try run.micro_batch=auto."),
          {{"share", 1 - used}, {"used_bytes", facts.device_peak_bytes}, {"device_bytes", facts.device_bytes}},
          "unused_memory",
          Severity::notice,
          recomputes ? "model.activation_checkpointing" : "run.micro_batch"};
}

Finding throttled(const RunFacts& facts) {
  const RankLoss loss = largest_loss(facts, [](const RankFacts& rank) { return rank.throttled; });
  if (!loss.is_noticeable()) return {};
  return {fmt::format("Power, heat or the hardware lowered the clocks of the GPU of rank {} for {} of the time: see "
                      "nvidia-smi -q -d PERFORMANCE, its cooling and its power limit.",
                      loss.rank, percent(loss.share)),
          {{"rank", loss.rank}, {"share", loss.share}},
          "throttled"};
}

Finding skipped_updates(const RunFacts& facts) {
  const double share = static_cast<double>(facts.num_skipped) / static_cast<double>(facts.num_updates);
  if (facts.num_skipped < kLeastSkipped || share < kSkippedShare) return {};
  return {fmt::format("{} of {} ({}) were skipped because gradients exceeded fp16: try precision=bf16, or a lower "
                      "optimizer.learning_rate.",
                      grouped(facts.num_skipped), counted(facts.num_updates, "update"), percent(share)),
          {{"share", share}, {"skipped", facts.num_skipped}, {"updates", facts.num_updates}},
          "skipped_updates",
          Severity::notice,
          "precision"};
}

using Rule = Finding (*)(const RunFacts&);

/// In the order of the table in docs/report.md.
constexpr Rule kRules[] = {oversubscribed,        straggler,     throttled,      slow_storage,
                           input_bound,           launch_bound,  slow_link,      small_buckets,
                           exposed_communication, unused_memory, skipped_updates};

}  // namespace

Findings findings_of(const RunFacts& facts) {
  Findings out;
  if (facts.num_steps < kLeastSteps) return out;
  for (const Rule rule : kRules) {
    Finding finding = rule(facts);
    if (finding.empty()) continue;
    finding.severity = Severity::notice;
    out.push_back(std::move(finding));
  }
  return out;
}

}  // namespace multicard
