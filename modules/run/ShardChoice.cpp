#include "run/ShardChoice.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/NamedNumbers.hpp"
#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "device/DeviceError.hpp"
#include "device/Memory.hpp"
#include "memory/MemoryEstimate.hpp"
#include "memory/WhatFits.hpp"
#include "run/ShardPredictions.hpp"
#include "tasks/setup/RunContext.hpp"

namespace multicard {

namespace {

constexpr const char* kChosenFor = "chosen_shard_ranks";

std::string size_text(std::int64_t bytes) {
  return human_bytes(static_cast<double>(bytes));
}

/// On rank 0.
ShardChoice first_that_fits(const std::vector<ShardCandidate>& candidates, ShardPredictions& predictions,
                            at::Device device, std::int64_t available) {
  ShardChoice least;
  std::int64_t least_bytes = 0;
  std::string others;
  for (const ShardCandidate& candidate : candidates) {
    const std::int64_t total = predictions.of(candidate).total();
    const std::int64_t bytes = total + (device.is_cuda() ? gaps_between(total) : 0);
    const std::string_view word = word_of(candidate.shard, kShardWords);
    if (bytes <= available)
      return {candidate.shard, fmt::format("{} (auto): a rank has {}, of which it takes {}{}{}", word,
                                           size_text(available), size_text(bytes), others.empty() ? "" : "; ", others)};
    others += others.empty() ? fmt::format("{} would take {}", word, size_text(bytes))
                             : fmt::format(", {} {}", word, size_text(bytes));
    if (least_bytes > 0 && bytes >= least_bytes) continue;
    least_bytes = bytes;
    least.shard = candidate.shard;
  }
  least.reason = fmt::format("{} (auto): it takes least, but a rank has {}, too little for any of them; {}",
                             word_of(least.shard, kShardWords), size_text(available), others);
  return least;
}

/// Collective.
ShardChoice predicted(const RunOptions& options, const Communicator& communicator,
                      const std::vector<ShardCandidate>& candidates, TaskScan& scan) {
  const RunContext context(options, communicator);
  const RunContext::Current current(context);
  const at::Device device = context.device().device;
  const int num_sharing = context.device().gpu ? context.device().num_sharing : context.topology().local_size;
  const auto predictions = ShardPredictions::open(options, communicator, device, scan);
  const std::int64_t available = communicator.allreduce(bytes_for_rank(device, num_sharing), ReduceOp::min);
  ShardChoice choice;
  agreed_after_long_work(communicator, [&] {
    if (!communicator.is_root()) return;
    choice = choose_shard(candidates, *predictions, device, available);
    release_cached_device_memory(device);
  });
  choice.shard = static_cast<Shard>(communicator.broadcast_value(static_cast<int>(choice.shard)));
  choice.reason = communicator.broadcast(choice.reason);
  return choice;
}

/// Not where the deck or the nodes do not allow it any more.
bool still_holds(const std::optional<ShardChoice>& choice, int num_ranks,
                 const std::vector<ShardCandidate>& candidates) {
  return choice && choice->num_ranks == num_ranks &&
         std::any_of(candidates.begin(), candidates.end(),
                     [&](const ShardCandidate& one) { return one.shard == choice->shard; });
}

}  // namespace

ShardChoice choose_shard(std::vector<ShardCandidate> candidates, ShardPredictions& predictions, at::Device device,
                         std::int64_t available) {
  std::erase_if(candidates, [&](const ShardCandidate& one) { return !predictions.can(one.shard); });
  try {
    return with_known_errors([&] { return first_that_fits(candidates, predictions, device, available); });
  } catch (const Error& error) {
    if (!is_out_of_memory(error)) throw;
    const Shard last = candidates.back().shard;
    return {last, fmt::format("{} (auto): the device has too little memory to measure the model",
                              word_of(last, kShardWords))};
  }
}

RunOptions ShardChoice::applied_to(RunOptions options) const {
  options.parallel.shard = shard;
  return options;
}

void ShardChoice::add_to(RunSummary& summary) const {
  if (!reason.empty()) summary.text[kChosenShard] = reason;
}

void ShardChoice::add_to(TrainerState& state) const {
  if (reason.empty()) return;
  state.text[kChosenShard] = word_of(shard, kShardWords);
  state.extra[kChosenFor] = num_ranks;
}

std::optional<ShardChoice> choice_in(const TrainerState& state) {
  const auto chosen = state.text.find(kChosenShard);
  const std::optional<std::int64_t> ranks = whole_number_of(state.extra, kChosenFor, 1);
  if (chosen == state.text.end() || !ranks || *ranks > INT32_MAX) return std::nullopt;
  const std::optional<Shard> shard = value_of<Shard>(chosen->second, kShardWords);
  if (!shard || *shard == Shard::automatic) return std::nullopt;
  return ShardChoice{*shard, fmt::format("{} (auto): as before", chosen->second), static_cast<int>(*ranks)};
}

std::optional<ShardChoice> choice_in(const std::optional<std::string>& checkpoint, const RunOptions& options,
                                     const Communicator& communicator) {
  if (!checkpoint || options.parallel.shard != Shard::automatic) return std::nullopt;
  return agreed(communicator, [&] { return choice_in(CheckpointStore::read_state(*checkpoint)); });
}

ShardChoice choose_shard(const RunOptions& options, const Communicator& communicator,
                         const std::optional<ShardChoice>& before, TaskScan& scan, ChangesRanks changes_ranks) {
  if (options.parallel.shard != Shard::automatic) return {options.parallel.shard};
  ShardChoice choice;
  if (communicator.size() == 1) {
    choice.reason = "none (auto): one rank holds everything";
  } else {
    const std::vector<ShardCandidate> candidates = shard_candidates(
        options, splitting_ranks(options, find_topology(communicator), communicator.size(), changes_ranks));
    choice = still_holds(before, communicator.size(), candidates) ? *before
                                                                  : predicted(options, communicator, candidates, scan);
  }
  choice.num_ranks = communicator.size();
  return choice;
}

}  // namespace multicard
