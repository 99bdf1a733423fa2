#pragma once
/// \file What the part `replay` of a deck says.

#include <array>
#include <string>
#include <vector>

#include "config/Section.hpp"
#include "scheduling/rates/Machine.hpp"

namespace multicard {

/// Who published the files, and so how they are read (docs/replay.md).
enum class ReplayLayout { pollux, rubick, multicard };
inline constexpr std::array<Word<ReplayLayout>, 3> kReplayLayoutWords{
    {{"pollux", ReplayLayout::pollux}, {"rubick", ReplayLayout::rubick}, {"multicard", ReplayLayout::multicard}}};

enum class ReplayPolicy {
  fifo,
  fifo_backfill,
  tiresias,
  optimus,
  pollux,
  max_min,
  greedy,
  greedy_fixed,
  adaptive,
  adaptive_blind,
  multicard,       ///< the former name of greedy
  multicard_fixed  ///< the former name of greedy_fixed
};
inline constexpr std::array<Word<ReplayPolicy>, 12> kReplayPolicyWords{
    {{"fifo", ReplayPolicy::fifo},
     {"fifo-backfill", ReplayPolicy::fifo_backfill},
     {"tiresias", ReplayPolicy::tiresias},
     {"optimus", ReplayPolicy::optimus},
     {"pollux", ReplayPolicy::pollux},
     {"max-min", ReplayPolicy::max_min},
     {"greedy", ReplayPolicy::greedy},
     {"greedy-fixed", ReplayPolicy::greedy_fixed},
     {"adaptive", ReplayPolicy::adaptive},
     {"adaptive-blind", ReplayPolicy::adaptive_blind},
     {"multicard", ReplayPolicy::multicard},
     {"multicard-fixed", ReplayPolicy::multicard_fixed}}};

struct ReplayOptions {
  ReplayLayout layout = ReplayLayout::pollux;
  std::string workload;  ///< the CSV file of the jobs
  std::string traces;    ///< the folder of what was measured
  std::vector<ReplayPolicy> policies{ReplayPolicy::multicard};
  Machine cluster{16, 4};
};

/// Reads the section `replay`. A layout brings the cluster that it was published for.
ReplayOptions read_replay_options(Section& replay);

}  // namespace multicard
