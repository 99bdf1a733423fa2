#pragma once
/// \file Which settings distinguish configurations.

#include <vector>

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// The settings that differ between runs as decks and sweeps gave them, without those that
/// - only set a run's length, output or repeat (output, steps, repeat, seed, …),
/// - a run resolved itself (KeyTable::is_resolved): they may follow from the number of ranks or from the machine,
/// - repeat another axis (`strategy` and `parallel.strategy`, the overrides of a named case).
/// A failed run has its deck paths only; settings that it lacks are ignored.
std::vector<Axis> find_axes(const std::vector<RunReport>& runs, const KeyTable& table);

/// Strong when a series over ranks keeps the global batch, weak when it keeps the batch of a rank.
Scaling find_scaling(const std::vector<RunReport>& runs);

/// The value of `key` in `run`, empty when it is not set there.
std::string setting(const RunReport& run, const std::string& key);

}  // namespace multicard::post
