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
#include "memory/MethodMemory.hpp"
#include "memory/WhatFits.hpp"
#include "tasks/language/LanguageTask.hpp"
#include "tasks/setup/RunContext.hpp"
#include "tasks/setup/ShardGroups.hpp"

namespace multicard {

namespace {

constexpr const char* kChosenFor = "chosen_shard_ranks";

std::string size_text(std::int64_t bytes) {
  return human_bytes(static_cast<double>(bytes));
}

/// The rows that memory is predicted for.
struct RowsAtOnce {
  std::int64_t rows = 1;
  std::int64_t length = 0;  ///< tokens; of pairs those of an answer
};

/// Collective.
RowsAtOnce rows_at_once(const RunOptions& options, const Communicator& communicator, TaskScan& scan) {
  const auto training = open_training_set(options, communicator, at::kCPU, scan.training_text);
  scan.training_text = training->scan();
  const TextRows& rows = training->rows();
  const std::int64_t all = options.run.batch_over(communicator.size());
  const std::int64_t most = (all + communicator.size() - 1) / communicator.size();
  const std::int64_t at_once = options.run.chooses_micro_batch ? 1 : options.run.micro_batch.value_or(most);
  return {std::min(at_once, most), options.method.is_preference() ? rows.longest_sequence() : rows.longest_row()};
}

/// Predictions of one job, each kind measured when it is first asked for.
class Predictions {
 public:
  Predictions(const RunOptions& options, at::Device device, const RowsAtOnce& rows)
      : options_(options), device_(device), rows_(rows) {}

  std::int64_t bytes_of(const ShardCandidate& candidate) {
    if (!memory_ || num_ranks_ != candidate.num_ranks) {
      memory_.emplace(options_, device_, candidate.num_ranks);
      num_ranks_ = candidate.num_ranks;
    }
    const Shard split = candidate.shard == Shard::hybrid ? Shard::full : candidate.shard;
    const std::int64_t total = memory_->with(rows_.rows, rows_.length, split).total();
    return device_.is_cuda() ? total + gaps_between(total) : total;
  }

 private:
  RunOptions options_;
  at::Device device_;
  RowsAtOnce rows_;
  std::optional<MethodMemory> memory_;
  int num_ranks_ = 0;
};

/// On rank 0.
ShardChoice first_that_fits(const std::vector<ShardCandidate>& candidates, Predictions& predictions,
                            std::int64_t available) {
  ShardChoice least;
  std::int64_t least_bytes = 0;
  std::string others;
  for (const ShardCandidate& candidate : candidates) {
    const std::int64_t bytes = predictions.bytes_of(candidate);
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

/// On rank 0. Where two layers of the model do not fit while they are measured, what holds least is left to try.
ShardChoice chosen_by(const std::vector<ShardCandidate>& candidates, Predictions predictions, std::int64_t available) {
  try {
    return with_known_errors([&] { return first_that_fits(candidates, predictions, available); });
  } catch (const EnvironmentError& error) {
    if (!is_out_of_memory(error)) throw;
    const Shard last = candidates.back().shard;
    return {last, fmt::format("{} (auto): the device has too little memory to measure two layers of the model",
                              word_of(last, kShardWords))};
  }
}

/// Collective.
ShardChoice predicted(const RunOptions& options, const Communicator& communicator,
                      const std::vector<ShardCandidate>& candidates, TaskScan& scan) {
  const RunContext context(options, communicator);
  const RunContext::Current current(context);
  const at::Device device = context.device().device;
  const int num_sharing = context.device().gpu ? context.device().num_sharing : context.topology().local_size;
  const RowsAtOnce rows = rows_at_once(options, communicator, scan);
  const std::int64_t available = communicator.allreduce(bytes_for_rank(device, num_sharing), ReduceOp::min);
  ShardChoice choice;
  agreed_after_long_work(communicator, [&] {
    if (!communicator.is_root()) return;
    choice = chosen_by(candidates, Predictions(options, device, rows), available);
    release_cached_device_memory(device);
  });
  choice.shard = static_cast<Shard>(communicator.broadcast_value(static_cast<int>(choice.shard)));
  choice.reason = communicator.broadcast(choice.reason);
  return choice;
}

/// Collective. Nothing where the deck or the nodes do not allow it any more.
std::optional<ShardChoice> choice_before(const std::optional<std::string>& checkpoint, const Communicator& communicator,
                                         const std::vector<ShardCandidate>& candidates) {
  if (!checkpoint) return std::nullopt;
  std::optional<ShardChoice> found =
      agreed(communicator, [&] { return choice_in(CheckpointStore::read_state(*checkpoint)); });
  if (!found || found->num_ranks != communicator.size()) return std::nullopt;
  const bool is_candidate = std::any_of(candidates.begin(), candidates.end(),
                                        [&](const ShardCandidate& one) { return one.shard == found->shard; });
  return is_candidate ? found : std::nullopt;
}

}  // namespace

std::vector<ShardCandidate> shard_candidates(const RunOptions& options, const Topology& topology, int num_ranks,
                                             ChangesRanks changes_ranks) {
  std::vector<ShardCandidate> candidates{{Shard::none, num_ranks}};
  // The state of adapters is small.
  if (!options.method.has_adapters()) candidates.push_back({Shard::optimizer, num_ranks});
  const int ranks_of_node = ranks_of_each_node(topology);
  const bool has_groups = ranks_of_node > 1 && ranks_of_node < num_ranks && changes_ranks == ChangesRanks::no;
  if (has_groups) candidates.push_back({Shard::hybrid, ranks_of_node});
  candidates.push_back({Shard::full, num_ranks});
  std::erase_if(candidates, [&](const ShardCandidate& one) { return !can_be_split(options, one.shard); });
  return candidates;
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
  const auto* const word = std::find_if(std::begin(kShardWords), std::end(kShardWords),
                                        [&](const Word<Shard>& one) { return one.text == chosen->second; });
  if (word == std::end(kShardWords) || word->value == Shard::automatic) return std::nullopt;
  return ShardChoice{word->value, fmt::format("{} (auto): as before", word->text), static_cast<int>(*ranks)};
}

ShardChoice choose_shard(const RunOptions& options, const Communicator& communicator,
                         const std::optional<std::string>& checkpoint, TaskScan& scan, ChangesRanks changes_ranks) {
  if (options.parallel.shard != Shard::automatic) return {options.parallel.shard};
  ShardChoice choice;
  if (communicator.size() == 1) {
    choice.reason = "none (auto): one rank holds everything";
  } else if (!options.is_language()) {
    choice.reason = "none (auto): networks of images are small";
  } else {
    const std::vector<ShardCandidate> candidates =
        shard_candidates(options, find_topology(communicator), communicator.size(), changes_ranks);
    const std::optional<ShardChoice> before = choice_before(checkpoint, communicator, candidates);
    choice = before ? *before : predicted(options, communicator, candidates, scan);
  }
  choice.num_ranks = communicator.size();
  return choice;
}

}  // namespace multicard
