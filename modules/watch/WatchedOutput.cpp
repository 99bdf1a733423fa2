#include "watch/WatchedOutput.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include <fmt/format.h>

#include "base/RegularFile.hpp"

namespace multicard {

namespace {

/// Nothing where it cannot be read now, with why.
std::optional<WatchStatus> read_status(const std::string& path, std::string* why = nullptr) {
  try {
    return read_status_text(read_file(path), path);
  } catch (const std::exception& error) {
    if (why) *why = error.what();
    return std::nullopt;
  }
}

bool is_end(const std::string& state) {
  const auto known = std::find(kWatchStateNames.begin(), kWatchStateNames.end(), state);
  return known != kWatchStateNames.end() && is_end(static_cast<WatchState>(known - kWatchStateNames.begin()));
}

std::string waiting_for(const std::string& output) {
  const std::string file = status_file(output);
  if (!is_there(output)) return fmt::format("waiting for {}, which is not there yet", output);
  if (is_there(output + "/results.h5"))
    return fmt::format("waiting for {}; results.h5 is there, of a run that wrote no status", file);
  return fmt::format("waiting for {}, which is not there yet", file);
}

}  // namespace

WatchedOutput::WatchedOutput(std::string path) {
  constexpr std::string_view kFile = "/status.json";
  if (path.ends_with(kFile)) path.resize(path.size() - kFile.size());
  while (path.size() > 1 && path.ends_with('/'))
    path.pop_back();
  watched_.output = std::move(path);
}

void WatchedOutput::look(double now) {
  const std::string file = status_file(watched_.output);
  std::string why;
  if (auto status = read_status(file, &why)) watched_.status = std::move(status);
  watched_.remark.clear();
  if (!watched_.status) {
    watched_.liveness = Liveness::missing;
    watched_.remark =
        is_there(file) ? fmt::format("waiting for {} to be readable: {}", file, why) : waiting_for(watched_.output);
    return;
  }
  look_for_tasks();
  judge(now);
}

void WatchedOutput::look_for_tasks() {
  if (!watched_.status->share) return;
  for (const WatchedTask& task : watched_.status->share->tasks) {
    if (task.name.find('/') != std::string::npos) continue;  // a file that is not the program's may say anything
    const auto status = read_status(status_file(watched_.output + "/tasks/" + task.name));
    if (status && status->run) watched_.tasks[task.name] = *status->run;
  }
}

// The process is asked for only without news: one that has ended may have written that it has after the file was read.
void WatchedOutput::judge(double now) {
  const WatchStatus& status = *watched_.status;
  watched_.age_s = std::max(0.0, now - status.updated);
  if (is_end(status.state)) {
    watched_.liveness = Liveness::ended;
    return;
  }
  watched_.liveness = Liveness::working;
  if (watched_.age_s > kGoneS && is_writer_running(status) == false)
    watched_.liveness = Liveness::gone;
  else if (watched_.age_s > kSilentS)
    watched_.liveness = Liveness::silent;
}

}  // namespace multicard
