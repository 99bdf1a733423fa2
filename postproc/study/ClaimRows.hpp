#pragma once
/// \file What the cells of a study of a claim say: changes over baselines, each with its interval and a verdict.

#include <string>
#include <vector>

#include "postproc/reduce/ReadClaim.hpp"
#include "postproc/reduce/Statistics.hpp"
#include "postproc/study/ClaimVerdict.hpp"

namespace multicard::post {

/// E1: a variant at a place. Seconds are until both tasks are done, and of a step of each.
struct IterationTime {
  std::string place, variant;
  Estimate together, image, text;
};

/// E1: a variant over another one; ratios of each repeat, then their median.
struct IterationChange {
  std::string place, variant, base;
  Estimate together;     ///< of the time until both are done
  Estimate image, text;  ///< of the median step
  Estimate both_steps;   ///< geometric mean of the two ratios of steps
  Verdict verdict = Verdict::open;
};

/// E1 by simulation: ratios of times until both are done; unknown where the baseline, or the plan, is not possible.
struct SimulatedChange {
  std::string pair, gpus;
  std::string work;  ///< what the work of an hour is sized by: "best rate" or "equal split"
  double seconds = kNone, over_equal = kNone, over_sequential = kNone;
};
struct Quartiles {
  double low = kNone, median = kNone, high = kNone;
  int num_values = 0;
};

/// E2: a variant of a task on a device. Changes are over `base`, where it has one.
struct MemoryUse {
  std::string device, task, variant, base;
  Estimate utilisation;           ///< mean allocated bytes over capacity, as a share
  Estimate rate;                  ///< samples a second; unknown where nothing computes
  Estimate points;                ///< difference of utilisations, as a share
  Estimate relative, rate_ratio;  ///< over those of `base`
  Verdict verdict = Verdict::open;
};

/// E3: a variant of the exchange. Ratios are over the first variant of the place and task.
struct CommunicationCost {
  std::string place, task, variant;
  bool is_lossy = false, is_apart = false, is_control = false;
  Estimate bytes;                  ///< a sample, counted
  Estimate link_over_counted;      ///< of bytes that left a node
  Estimate step, exposed, inside;  ///< seconds of a step (of as many samples)
  Estimate bytes_ratio, exposed_ratio, inside_ratio;
  Estimate exposed_share;           ///< of the step
  double worst_loss = kNone;        ///< largest |loss / loss of the first variant - 1| over seeds
  Parity parity = Parity::refused;  ///< of that
  int num_seeds = 0;
  Verdict verdict = Verdict::open;  ///< of exposed_ratio
};

std::vector<IterationTime> iteration_times(const ClaimFile& file);
/// `share` over each baseline, then each component alone over the naive baseline, by place.
std::vector<IterationChange> iteration_changes(const ClaimFile& file);
std::vector<SimulatedChange> simulated_changes(const ClaimFile& file);
/// Of those with this work.
Quartiles quartiles_of(const std::vector<SimulatedChange>& changes, const std::string& work,
                       double SimulatedChange::*ratio);
/// "at its best rate", "at its rate in the equal split"
std::string text_of_work(const std::string& work);
/// The kinds of work, in the order of the cells.
std::vector<std::string> works_of(const std::vector<SimulatedChange>& changes);
std::vector<MemoryUse> memory_uses(const ClaimFile& file);
std::vector<CommunicationCost> communication_costs(const ClaimFile& file);

}  // namespace multicard::post
