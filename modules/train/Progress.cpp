#include "train/Progress.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "base/Log.hpp"
#include "base/Text.hpp"

namespace multicard {

std::string progress_line(const ProgressState& state) {
  const auto width = static_cast<int>(std::to_string(state.steps_per_epoch).size());
  const std::int64_t in_epoch = state.step - state.epoch * state.steps_per_epoch;
  return fmt::format(
      "epoch {}/{}  step {:>{}}/{}  loss {:<6}  lr {:<6}  {} img/s  {} ms (data {} %, reduce {} %)  {} left",
      state.epoch + 1, state.num_epochs, in_epoch, width, state.steps_per_epoch, significant(state.loss, 3),
      significant(state.learning_rate, 3), significant(state.rows_per_s, 3), significant(1e3 * state.step_s, 3),
      significant(100 * state.data_share, 2), significant(100 * state.reduce_share, 2),
      human_duration(static_cast<double>(state.num_steps - state.step) * state.step_s));
}

Progress::Progress(int rank, std::int64_t log_every, bool quiet)
    : quiet_(quiet), speaks_(rank == 0 && !quiet), terminal_(isatty(STDERR_FILENO) == 1), log_every_(log_every) {}

void Progress::step(const ProgressState& state) {
  if (!speaks_) return;
  const bool last = state.step == state.num_steps;
  if (!terminal_) {
    if (last || (log_every_ > 0 && state.step % log_every_ == 0)) log_info(progress_line(state));
    return;
  }
  if (!last && seconds_since(last_) < 0.2) return;
  last_ = SteadyClock::now();
  std::fprintf(stderr, "\r\033[K%s", progress_line(state).c_str());
  std::fflush(stderr);
  line_open_ = true;
}

void Progress::finish_line() {
  if (!line_open_) return;
  std::fputc('\n', stderr);
  line_open_ = false;
}

}  // namespace multicard
