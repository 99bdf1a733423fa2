#pragma once
/// \file How long a run is, what it writes, and how it computes: the section run of a deck.

#include <cstdint>
#include <optional>
#include <string>

#include "config/DeckKey.hpp"
#include "config/Smoke.hpp"
#include "config/Words.hpp"
#include "device/ComputeOptions.hpp"

namespace multicard {

enum class ResumeMode { automatic, never, from_path };
/// The words of decks; anything else is a path.
inline constexpr Word<ResumeMode> kResumeWords[] = {{"auto", ResumeMode::automatic}, {"never", ResumeMode::never}};

/// What happens when the loss is finite but has risen far beyond its beginning (results/Divergence.hpp).
enum class OnDivergence { warn, stop };
inline constexpr Word<OnDivergence> kOnDivergenceWords[] = {{"warn", OnDivergence::warn}, {"stop", OnDivergence::stop}};

/// Where a run starts: from the newest checkpoint of its output, from none, or from the one at a path.
struct ResumeFrom {
  ResumeMode mode = ResumeMode::automatic;
  std::string path = {};  ///< of from_path
};

struct RunSettings : ComputeOptions {
  std::string output = kDefaultRunOutput;      ///< folder of results, checkpoints and records
  std::int64_t epochs = 1;                     ///< passes over the training data; unused when steps is set
  std::optional<std::int64_t> steps;           ///< updates, instead of epochs
  std::int64_t global_batch = 64;              ///< rows of an update over all ranks; unused when batch_per_rank is set
  std::optional<std::int64_t> batch_per_rank;  ///< rows of an update on each rank (weak scaling)
  std::optional<std::int64_t> micro_batch;     ///< rows a rank computes at once; none: all of its rows
  bool chooses_micro_batch = false;            ///< run.micro_batch: auto, the largest that fits
  std::int64_t seed = 1;
  std::int64_t log_every = 20;          ///< steps between progress lines
  std::int64_t checkpoint_every = 200;  ///< steps between checkpoints; 0: only at the end
  int keep_checkpoints = 2;             ///< newest checkpoints kept; 0: none is written at all
  ResumeFrom resume;
  std::optional<double> wall_limit;  ///< seconds since launch after which the run stops and can be resumed
  double timeout_s = 300;            ///< seconds a collective may take
  bool keep_best = false;            ///< the checkpoint with the best evaluation stays
  OnDivergence on_divergence = OnDivergence::warn;
  bool tensorboard = false;               ///< write TensorBoard event files
  bool json_lines = false;                ///< write metrics.jsonl
  std::optional<std::string> prometheus;  ///< file of metrics for Prometheus
  double ema_decay = 0;                   ///< of the moving average of weights; 0: none is kept

  /// Rows of an update over `num_ranks` ranks.
  std::int64_t batch_over(int num_ranks) const { return batch_per_rank ? *batch_per_rank * num_ranks : global_batch; }
};

/// \param run the section run
RunSettings read_run_settings(Section& run);

/// The keys of run and profile that no other module owns.
DeckKeys run_settings_keys();

}  // namespace multicard
