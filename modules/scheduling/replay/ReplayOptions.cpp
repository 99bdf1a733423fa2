#include "scheduling/replay/ReplayOptions.hpp"

#include <optional>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard {

namespace {

constexpr int kMostNodes = 4096, kMostGpusPerNode = 64;

std::string path_or_reject(Section& replay, const std::string& key) {
  const std::optional<std::string> path = replay.optional_path(key);
  if (!path) replay.reject(key, "is missing", "", "Name what to replay (docs/replay.md).");
  return path.value_or("");
}

bool needs_pollux(ReplayPolicy policy) {
  return policy == ReplayPolicy::optimus || policy == ReplayPolicy::pollux;
}

std::vector<ReplayPolicy> read_policies(Section& replay, ReplayLayout layout) {
  std::vector<ReplayPolicy> policies;
  const std::vector<std::string> words = texts_of<ReplayPolicy>(kReplayPolicyWords);
  const std::vector<std::string> named = replay.list<std::string>("policy", {"multicard"});
  if (named.empty()) replay.reject("policy", "is empty", "", fmt::format("Name some of {}.", join(words, ", ")));
  for (const std::string& word : named) {
    const std::optional<ReplayPolicy> policy = value_of<ReplayPolicy>(word, kReplayPolicyWords);
    if (!policy) {
      const std::optional<std::string> meant = nearest(word, words);
      replay.reject("policy", fmt::format("expected one of {}, got {}", join(words, ", "), word), "",
                    meant ? fmt::format("Did you mean {}?", *meant) : "");
    } else if (layout != ReplayLayout::pollux && needs_pollux(*policy)) {
      replay.reject("policy", fmt::format("{} needs layout: pollux", word),
                    "it doubles GPUs or adds them one by one, and the tables of the other layouts have gaps");
    } else {
      policies.push_back(*policy);
    }
  }
  return policies;
}

}  // namespace

ReplayOptions read_replay_options(Section& replay) {
  ReplayOptions options;
  options.layout = replay.choice("layout", options.layout, kReplayLayoutWords);
  options.workload = path_or_reject(replay, "workload");
  options.traces = path_or_reject(replay, "traces");
  options.policies = read_policies(replay, options.layout);
  // The cluster of Rubick's publication.
  if (options.layout == ReplayLayout::rubick) options.cluster = {8, 8};
  options.cluster.nodes = replay.get_in_range("nodes", options.cluster.nodes, 1, kMostNodes);
  options.cluster.gpus_per_node =
      replay.get_in_range("gpus_per_node", options.cluster.gpus_per_node, 1, kMostGpusPerNode);
  return options;
}

}  // namespace multicard
