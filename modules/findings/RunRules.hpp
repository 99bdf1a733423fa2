#pragma once
/// \file The rules by which a run is judged: what costs it a noticeable part of its time, and what to try.

#include "findings/Finding.hpp"
#include "findings/RunFacts.hpp"

namespace multicard {

/// \name Thresholds (docs/report.md, "Findings")
/// @{
/// Steps that must be measured: fewer vary too much to blame anything, on equal ranks too.
inline constexpr std::int64_t kLeastSteps = 20;
/// Share of the time from which a loss is worth a sentence: less is within what repeated runs differ by.
inline constexpr double kNoticeableShare = 0.1;
/// The same of waiting for cores: so long wait five ranks on four cores. The program's
/// own threads for input and communication make ranks on cores that are all in use wait for up to 14 % (measured with
/// 107 all-reduces a step on two cores).
inline constexpr double kNoticeableCoreWait = 0.2;
/// The same where the GPU's driver estimates how long it was idle, which includes evaluations and checkpoints.
inline constexpr double kNoticeableGaps = 0.25;
/// Payload below which an all-reduce is mostly latency: 25 µs, as of NCCL on a node, at 10 GB/s.
inline constexpr double kSmallBucketBytes = 250e3;
/// All-reduces a step from which larger buckets could make fewer of them: gradients of small models fill a few buckets
/// only, and each step has one for its status.
inline constexpr double kManyAllReduces = 8;
/// Share of the rate of other links below which a link between nodes is slow: rates of equal ones differ by less.
inline constexpr double kSlowLinkShare = 0.5;
/// What reading rows of any storage may take, libhdf5 included: the time of a random read of a solid-state disk for
/// each row, and its bytes at the speed of a disk.
inline constexpr double kExpectedRowSeconds = 0.2e-3, kExpectedReadBytesPerSecond = 200e6;
/// Share of a GPU's memory below which settings that save memory at the cost of time are not needed.
inline constexpr double kSpareMemoryShare = 0.5;
/// Share of updates: a loss scale that fits skips one in 2000.
inline constexpr double kSkippedShare = 0.05;
/// Skipped updates from which on their share is looked at.
inline constexpr std::int64_t kLeastSkipped = 3;
/// @}

/// The findings about one run, each with `share`, the part of the time (of skipped_updates: of the updates; of
/// unused_memory: of the memory) that it is about, and `setting`, the key of the deck to change, where one helps.
/// Causes come before what follows from them: ranks that wait for cores say nothing about data or communication, and
/// what slows a rank is named instead of the rank. Empty for a healthy run and for one of fewer than kLeastSteps steps.
Findings findings_of(const RunFacts& facts);

}  // namespace multicard
