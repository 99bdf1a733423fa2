#include "train/Progress.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"

namespace multicard {

namespace {

/// A piece of the line; those of high rank go first when room is short. Numbers have fixed columns, so that lines of a
/// log stand below each other and a live one does not jump.
struct Piece {
  int rank;
  std::string text;
};

constexpr int kLeastImportant = 8;

std::vector<Piece> pieces_of(const ProgressState& state) {
  const auto digits = [](std::int64_t number) { return static_cast<int>(std::to_string(number).size()); };
  std::vector<Piece> pieces{
      {5, fmt::format("epoch {:>{}}/{}  ", state.epoch + 1, digits(state.num_epochs), state.num_epochs)},
      {0, fmt::format("step {:>{}}/{}", state.step, digits(state.num_steps), state.num_steps)},
      {0, fmt::format("  loss {:<6}", significant(state.loss, 3))},
      {2, fmt::format("  {:>5} {}/s", significant(state.rate, 3), state.unit)},
      {1,
       fmt::format("  {:>10} left", human_duration(static_cast<double>(state.num_steps - state.step) * state.step_s))},
      {3, fmt::format("  comm {:>2.0f} %", 100 * state.reduce_share)}};
  if (state.memory_bytes > 0)
    pieces.push_back({4, fmt::format("  mem {:>7}", human_bytes(static_cast<double>(state.memory_bytes)))});
  pieces.push_back({6, fmt::format("  {:>5} ms", significant(1e3 * state.step_s, 3))});
  pieces.push_back({7, fmt::format("  data {:>2.0f} %", 100 * state.data_share)});
  pieces.push_back({kLeastImportant, fmt::format("  lr {}", significant(state.learning_rate, 3))});
  return pieces;
}

}  // namespace

std::string progress_line(const ProgressState& state, std::size_t columns) {
  const std::vector<Piece> pieces = pieces_of(state);
  std::string line;
  for (int highest = kLeastImportant; highest >= 0; --highest) {
    line.clear();
    for (const Piece& piece : pieces)
      if (piece.rank <= highest) line += piece.text;
    if (line.size() <= columns) return line;
  }
  return line.substr(0, columns);
}

std::string labelled_line(const RunLabel& label, const ProgressState& state, std::size_t columns) {
  constexpr std::size_t kEnoughForTheLine = 60;  // loss, rate and time left
  if (label.brief.empty()) return progress_line(state, columns);
  const bool is_whole = num_characters(label.whole) + 2 + kEnoughForTheLine <= columns;
  const std::string head = (is_whole ? label.whole : label.brief) + "  ";
  const std::size_t width = num_characters(head);
  if (width >= columns) return label.brief.substr(0, columns);
  return head + progress_line(state, columns - width);
}

Progress::Progress(int rank, std::int64_t log_every, Verbosity verbosity, RunLabel label, double rarely_s)
    : verbosity_(verbosity),
      line_(verbosity == Verbosity::normal ? LineEnd::kept : LineEnd::erased),
      speaks_(rank == 0 && verbosity != Verbosity::quiet && line_.is_wanted()),
      live_(line_.is_live()),
      log_every_(log_every),
      label_(std::move(label)),
      rarely_s_(rarely_s) {}

void Progress::step(const ProgressState& state) {
  if (!speaks_) return;
  if (!live_) return step_in_log(state);
  const bool last = state.step == state.num_steps;
  // A terminal over a network is slower than steps of a small model.
  if (!last && seconds_since(last_) < 0.2) return;
  last_ = SteadyClock::now();
  line_.show(labelled_line(label_, state, line_.room()));
}

void Progress::step_in_log(const ProgressState& state) {
  constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
  const bool last = state.step == state.num_steps;
  if (verbosity_ == Verbosity::normal) {
    if (last || (log_every_ > 0 && state.step % log_every_ == 0)) log_info(labelled_line(label_, state, kNoLimit));
  } else if (!last && seconds_since(std::max(start_, last_)) >= rarely_s_) {
    last_ = SteadyClock::now();
    log_info(labelled_line(label_, state, kNoLimit));
  }
}

void Progress::finish_line() {
  line_.finish();
}

}  // namespace multicard
