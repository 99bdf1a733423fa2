#include "prepare/sets/PrepareProgress.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/Log.hpp"
#include "base/Text.hpp"

namespace multicard {

PrepareProgress::PrepareProgress(std::string what, std::int64_t total, std::string unit,
                                 const Communicator& communicator, Loudness loudness)
    : what_(std::move(what)),
      unit_(std::move(unit)),
      total_(total),
      num_ranks_(communicator.size()),
      speaks_(loudness == Loudness::normal && communicator.is_root() && line_.is_wanted()),
      is_live_(line_.is_live()) {}

PrepareProgress::~PrepareProgress() {
  line_.erase();
}

void PrepareProgress::advance() {
  ++done_;
  const double interval_s = is_live_ ? 1 : 5;
  if (speaks_ && seconds_since(shown_) >= interval_s) show();
}

void PrepareProgress::show() {
  shown_ = SteadyClock::now();
  // An estimate: asking the other ranks would need a collective in the midst of work that is not.
  const std::int64_t done = std::min(total_, done_ * num_ranks_);
  const std::string line = fmt::format(
      "{} {:.0f} %, {} of {} {}, {} {}/s", what_, 100.0 * static_cast<double>(done) / static_cast<double>(total_),
      grouped(done), grouped(total_), unit_, significant(static_cast<double>(done) / seconds_since(start_), 3), unit_);
  if (!is_live_) return log_info(line);
  line_.show(line.substr(0, line_.room()));
}

}  // namespace multicard
