#include "scaling/PhaseOrder.hpp"

#include <cstdint>
#include <utility>

namespace multicard {

namespace {

constexpr std::int64_t kPause = 1000;  ///< changes of GPUs that one pause is worth
constexpr int kMostRounds = 8;

/// Pauses and changes of all tasks.
std::int64_t disturbance(const std::vector<SplitPhase>& phases) {
  std::int64_t sum = 0;
  for (std::size_t task = 0; task < phases.front().split.size(); ++task) {
    bool has_run = false;
    int before = 0;
    for (const SplitPhase& phase : phases) {
      const int gpus = phase.split[task].gpus;
      if (gpus > 0 && before == 0 && has_run) sum += kPause;
      if (gpus > 0 && before > 0 && gpus != before) ++sum;
      has_run = has_run || gpus > 0;
      before = gpus;
    }
  }
  return sum;
}

}  // namespace

void order_phases(std::vector<SplitPhase>& phases, const std::vector<std::size_t>& stages) {
  if (phases.empty()) return;
  std::int64_t least = disturbance(phases);
  bool has_improved = true;
  for (int round = 0; has_improved && round < kMostRounds; ++round) {
    has_improved = false;
    for (std::size_t a = 0; a < phases.size(); ++a)
      for (std::size_t b = a + 1; b < phases.size() && stages[b] == stages[a]; ++b) {
        std::swap(phases[a], phases[b]);
        if (const std::int64_t now = disturbance(phases); now < least) {
          least = now;
          has_improved = true;
        } else {
          std::swap(phases[a], phases[b]);
        }
      }
  }
}

}  // namespace multicard
