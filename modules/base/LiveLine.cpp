#include "base/LiveLine.hpp"

#include <cstdio>

namespace multicard {

namespace {

/// In one write: mpirun joins what several ranks write.
void write_error(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

constexpr const char* kEraseLine = "\r\033[K";

}  // namespace

LiveLine::LiveLine() : mode_(progress_mode()) {}

LiveLine::~LiveLine() {
  finish();
}

bool LiveLine::is_live() const {
  return mode_ == ProgressMode::live || (mode_ == ProgressMode::automatic && terminal_.can_rewrite());
}

std::size_t LiveLine::room() const {
  constexpr std::size_t kUsual = 80;
  return terminal_.columns().value_or(kUsual) - 1;
}

void LiveLine::show(const std::string& text) {
  write_error(kEraseLine + text);
  is_open_ = true;
}

void LiveLine::finish() {
  if (is_open_) write_error("\n");
  is_open_ = false;
}

void LiveLine::erase() {
  if (is_open_) write_error(kEraseLine);
  is_open_ = false;
}

}  // namespace multicard
