#include "train/Progress.hpp"

#include <cstdio>
#include <vector>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace {

/// A piece of the line; those of high rank go first when room is short.
struct Piece {
  int rank;
  std::string text;
};

std::vector<Piece> pieces_of(const ProgressState& state) {
  const auto width = static_cast<int>(std::to_string(state.num_steps).size());
  return {
      {3, fmt::format("epoch {}/{}  ", state.epoch + 1, state.num_epochs)},
      {0, fmt::format("step {:>{}}/{}", state.step, width, state.num_steps)},
      {0, fmt::format("  loss {:<6}", significant(state.loss, 3))},
      {4, fmt::format("  lr {:<6}", significant(state.learning_rate, 3))},
      {2, fmt::format("  {} {}/s", significant(state.rate, 3), state.unit)},
      {5, fmt::format("  {} ms", significant(1e3 * state.step_s, 3))},
      {6, fmt::format(" (data {} %, reduce {} %)", significant(100 * state.data_share, 2),
                      significant(100 * state.reduce_share, 2))},
      {1, fmt::format("  {} left", human_duration(static_cast<double>(state.num_steps - state.step) * state.step_s))}};
}

}  // namespace

std::string progress_line(const ProgressState& state, std::size_t columns) {
  const std::vector<Piece> pieces = pieces_of(state);
  std::string line;
  for (int highest = 6; highest >= 0; --highest) {
    line.clear();
    for (const Piece& piece : pieces)
      if (piece.rank <= highest) line += piece.text;
    if (line.size() <= columns) return line;
  }
  return line.substr(0, columns);
}

Progress::Progress(int rank, std::int64_t log_every, bool quiet)
    : quiet_(quiet), speaks_(rank == 0 && !quiet && line_.is_wanted()), live_(line_.is_live()), log_every_(log_every) {}

void Progress::step(const ProgressState& state) {
  if (!speaks_) return;
  const bool last = state.step == state.num_steps;
  if (!live_) {
    if (last || (log_every_ > 0 && state.step % log_every_ == 0)) log_info(progress_line(state));
    return;
  }
  if (!last && seconds_since(last_) < 0.2) return;
  last_ = SteadyClock::now();
  line_.show(progress_line(state, line_.room()));
}

void Progress::finish_line() {
  line_.finish();
}

}  // namespace multicard
