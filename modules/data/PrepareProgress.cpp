#include "data/PrepareProgress.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "base/Log.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace {

bool shows_live_line() {
  const char* const wish = std::getenv("MULTICARD_PROGRESS");
  return isatty(STDERR_FILENO) == 1 || isatty(STDOUT_FILENO) == 1 || (wish && std::string_view(wish) == "live");
}

}  // namespace

PrepareProgress::PrepareProgress(std::string what, std::int64_t total, std::string unit,
                                 const Communicator& communicator, Loudness loudness)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      num_ranks_(communicator.size()),
      speaks_(loudness == Loudness::normal && communicator.is_root()),
      on_terminal_(shows_live_line()) {}

PrepareProgress::~PrepareProgress() {
  if (line_is_open_) std::fputs("\r\x1b[K", stderr);
}

void PrepareProgress::advance() {
  ++done_;
  const double interval_s = on_terminal_ ? 1 : 5;
  if (speaks_ && seconds_since(shown_) >= interval_s) show();
}

void PrepareProgress::show() {
  shown_ = SteadyClock::now();
  const std::int64_t done = std::min(total_, done_ * num_ranks_);
  const std::string line = fmt::format(
      "{} {:.0f} %, {} of {} {}, {} {}/s", what_, 100.0 * static_cast<double>(done) / static_cast<double>(total_),
      grouped(done), grouped(total_), unit_, significant(static_cast<double>(done) / seconds_since(start_), 3), unit_);
  if (!on_terminal_) return log_info(line);
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  line_is_open_ = true;
}

}  // namespace multicard
