#include "base/LiveLine.hpp"

#include <utility>

#include "base/Log.hpp"

namespace multicard {

LiveLine::LiveLine(LineEnd end) : mode_(progress_mode()), end_(end) {}

LiveLine::~LiveLine() {
  finish();
}

bool LiveLine::is_live() const {
  return mode_ == ProgressMode::live || (mode_ == ProgressMode::automatic && terminal_.can_rewrite());
}

std::size_t LiveLine::room() const {
  // One column less: of a line that has wrapped, "\r" reaches the last part only.
  constexpr std::size_t kUsual = 80;
  return terminal_.columns().value_or(kUsual) - 1;
}

void LiveLine::show(const std::string& text) {
  write_open_line(text);
  is_open_ = true;
}

void LiveLine::finish() {
  if (!std::exchange(is_open_, false)) return;
  if (end_ == LineEnd::kept)
    end_open_line();
  else
    erase_open_line();
}

void LiveLine::erase() {
  if (std::exchange(is_open_, false)) erase_open_line();
}

}  // namespace multicard
