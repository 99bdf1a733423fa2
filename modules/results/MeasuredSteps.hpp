#pragma once
/// \file The steps of a run that count, and the rates in them, as docs/report.md defines them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "comm/Communicator.hpp"
#include "results/RankRecord.hpp"
#include "results/ResultsReader.hpp"
#include "results/ResultsWriter.hpp"

namespace multicard {

/// Whether a step is among the first skip_steps of the run or of a later segment. \param index counted from first_step
bool is_warm_up(const RunSummary& summary, std::int64_t first_step, std::size_t index);

/// Steps after warm-up with all ranks present; all steps with all ranks in a run that has no others.
struct MeasuredSteps {
  std::int64_t num_skipped = 0;                     ///< at the beginning and after each resume
  std::vector<double> seconds;                      ///< of each step, of its slowest rank
  std::vector<double> rates;                        ///< tokens (else samples) of all ranks over these seconds
  std::array<double, kPhaseNames.size()> phases{};  ///< seconds, summed over ranks and steps
  double rank_seconds = 0;                          ///< of steps, summed over ranks and steps

  /// The part of all seconds that went into `phase`, in per cent.
  double percent(Phase phase) const;
};

/// Collective. `rows` are those that this rank holds, at least one: together the whole run.
MeasuredSteps measure_steps(const RunSummary& summary, const RankRows& rows, const Communicator& communicator);

/// Which steps count by who took part in them.
enum class Presence {
  all_ranks,  ///< those of the largest number of ranks: the number that a run is compared by
  any_ranks   ///< all: of a task of a shared job, whose ranks change
};

/// The steps that count: not among the first skip_steps of the run or of a later segment, and with the ranks present.
std::vector<std::size_t> measured_steps(const RunData& run, Presence presence = Presence::all_ranks);

}  // namespace multicard
