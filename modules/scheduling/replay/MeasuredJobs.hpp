#pragma once
/// \file What `multicard share` would have measured of replayed jobs.

#include <map>
#include <string>
#include <vector>

#include "scheduling/model/TaskRates.hpp"
#include "scheduling/replay/ReplayJob.hpp"

namespace multicard {

/// Whether a policy knows how much a job has still to do.
enum class RemainingWork {
  known,   ///< as of a run whose epochs or steps are set
  unknown  ///< as much again as it has done is expected
};

/// Fills in what the adaptive policy reads, from step times that are recorded, as SharedTask does from those of its
/// ranks: a number of GPUs has a rate when the job has run on it, others have predictions of the model that is fitted
/// to those. Which numbers of GPUs a job can use at all is known, as `share` knows it from memory predictions.
class MeasuredJobs {
 public:
  /// \param restart_s that a job waits after its GPUs have changed
  MeasuredJobs(const Machine& machine, double restart_s, RemainingWork work)
      : machine_(machine), restart_s_(restart_s), work_(work) {}

  /// Before each decision.
  void observe(ReplayJob& job);

 private:
  struct Known {
    TaskRates rates;
    std::vector<int> usable;
    double all_updates = 0;
  };
  Known& known_of(ReplayJob& job);

  Machine machine_;
  double restart_s_;
  RemainingWork work_;
  std::map<std::string, Known> known_;  ///< by the names of jobs
};

}  // namespace multicard
