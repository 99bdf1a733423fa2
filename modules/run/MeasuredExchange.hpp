#pragma once
/// \file A run's choice of how gradients are exchanged, by the time of its first steps.

#include <cstdint>
#include <map>
#include <string>

#include "results/Columns.hpp"
#include "state/CheckpointStore.hpp"
#include "tasks/setup/TrainingSetup.hpp"
#include "train/ExchangeTrials.hpp"
#include "train/Trainer.hpp"

namespace multicard {

/// Times steps on all ranks of a run while trials are under way, and sets what they choose.
class MeasuredExchange {
 public:
  /// `setup` must outlive it.
  explicit MeasuredExchange(const TrainingSetup& setup);

  /// Of a run that is resumed from `state`.
  void resume(const TrainerState& state);
  /// Collective. Before the first step here; whether everything that the deck leaves open is chosen.
  bool begin();
  /// Collective. One step of `trainer`; whether it was the one after which everything is chosen.
  bool step(Trainer& trainer, const Requests& mine);

  /// How the next step exchanges gradients.
  const ExchangeSetting& setting() const { return trials_.setting(); }
  /// By key: ExchangeTrials::reasons.
  const std::map<std::string, std::string>& reasons() const { return trials_.reasons(); }
  /// Attributes "measured_" and the key.
  void add_to(RunSummary& summary) const;
  void add_to(TrainerState& state) const;

 private:
  const TrainingSetup& setup_;
  ExchangeTrials trials_;
};

}  // namespace multicard
