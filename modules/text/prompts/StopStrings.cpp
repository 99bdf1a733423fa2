#include "text/prompts/StopStrings.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/Error.hpp"

namespace multicard {

namespace {

/// The length of the longest end of `text` with which `stop` begins, short of all of it.
std::size_t length_of_beginning(std::string_view text, std::string_view stop) {
  for (std::size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length)
    if (text.ends_with(stop.substr(0, length))) return length;
  return 0;
}

}  // namespace

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  if (std::find(stops_.begin(), stops_.end(), "") != stops_.end())
    throw UsageError("a stop string is empty", "every text holds it");
}

// A stop string may be spread over several tokens. What could be its beginning is held back until the next piece
// decides, so that nothing is shown that would have to be taken back.
std::string StopStrings::next(const std::string& piece) {
  if (is_stopped_) return {};
  held_ += piece;
  std::size_t end = std::string::npos, num_held = 0;
  for (const std::string& stop : stops_) {
    end = std::min(end, held_.find(stop));
    num_held = std::max(num_held, length_of_beginning(held_, stop));
  }
  is_stopped_ = end != std::string::npos;
  std::string shown = held_.substr(0, is_stopped_ ? end : held_.size() - num_held);
  held_.erase(0, is_stopped_ ? held_.size() : shown.size());
  return shown;
}

std::string StopStrings::finish() {
  return std::exchange(held_, {});
}

}  // namespace multicard
