#include "results/EventFile.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "base/System.hpp"
#include "results/EventRecords.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";

/// The path of a file that stands behind all others of the folder: TensorBoard reads them by name.
std::string next_path(const std::string& folder) {
  fs::create_directories(folder);
  auto time = static_cast<std::int64_t>(seconds_since_1970());
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    std::int64_t other = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), other);
    // A run that resumes within the second, or on a machine whose clock is slow, must still come last.
    time = std::max(time, other + 1);
  }
  return (fs::path(folder) / fmt::format("{}{:010}.{}.{}.0", kPrefix, time, host_name(), getpid())).string();
}

/// The deck as a block of code of the text page.
std::string as_markdown(const std::string& deck) {
  std::string text = "    ";
  for (const char letter : deck) {
    text += letter;
    if (letter == '\n') text += "    ";
  }
  return text;
}

}  // namespace

EventFile::EventFile(const std::string& folder, std::int64_t first_step, const std::string& deck)
    : file_(next_path(folder)) {
  const double now = seconds_since_1970();
  for (const std::string& event : {tensorboard::file_version_event(now), tensorboard::start_event(now, first_step),
                                   tensorboard::text_event(now, first_step, "deck/text_summary", as_markdown(deck))})
    pending_ += tensorboard::record_of(event);
  flush();
}

std::string EventFile::tag(const std::string& name) {
  if (name.starts_with("train_")) return "train/" + name.substr(6);
  if (name.starts_with("eval_")) return "eval/" + name.substr(5);
  return (name.ends_with("_s") ? "speed/" : "train/") + name;
}

void EventFile::add(const std::string& name, std::int64_t step, double value) {
  pending_ += tensorboard::record_of(
      // Scalars are float32 in the format itself (summary.proto, simple_value).
      tensorboard::scalar_event(seconds_since_1970(), step, tag(name), static_cast<float>(value)));
}

void EventFile::flush() {
  file_.write(pending_);
  pending_.clear();
}

}  // namespace multicard
