// multicard watch: what runs say of themselves, again and again. One process, no MPI.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

#include "Commands.hpp"
#include "base/JsonText.hpp"
#include "base/Shown.hpp"
#include "base/StandardOutput.hpp"
#include "base/Terminal.hpp"
#include "base/Text.hpp"
#include "comm/Signals.hpp"
#include "results/MetricSink.hpp"
#include "watch/Picture.hpp"

namespace multicard {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kUsualColumns = 80, kLeastColumns = 60, kMostColumns = 200;

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

/// Standard output.
struct Screen {
  std::size_t columns = kUsualColumns, rows = 0;  ///< rows: 0 where it is no terminal
  bool can_rewrite = false, has_colours = false;
};

Screen screen_now() {
  Screen screen;
  const char* const term = std::getenv("TERM");
  winsize size{};
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) screen.rows = size.ws_row;
  const char* const columns = std::getenv("COLUMNS");
  const int exported = columns ? std::atoi(columns) : 0;
  screen.columns = output_columns().value_or(exported > 0 ? static_cast<std::size_t>(exported) : kUsualColumns);
  screen.columns = std::clamp(screen.columns, kLeastColumns, kMostColumns);
  screen.can_rewrite = is_terminal && term != nullptr && std::string(term) != "dumb";
  screen.has_colours = screen.can_rewrite && !is_set("NO_COLOR");
  return screen;
}

/// SGR parameters (ECMA-48); empty: as it is.
const char* colour_of(Tone tone) {
  switch (tone) {
    case Tone::heading:
      return "1";
    case Tone::good:
      return "1;32";
    case Tone::bad:
      return "1;31";
    case Tone::warning:
      return "33";
    case Tone::faint:
      return "2";
    case Tone::plain:
      break;
  }
  return "";
}

std::string painted(const PictureLine& line, const Screen& screen) {
  const std::string colour = colour_of(line.tone);
  return screen.has_colours && !colour.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", colour, line.text) : line.text;
}

Json json_of(const OutputView& watched) {
  constexpr const char* kLivenessNames[] = {"missing", "working", "silent", "gone", "ended"};
  Json json{{"output", watched.output}, {"liveness", kLivenessNames[static_cast<int>(watched.liveness)]}};
  if (!watched.remark.empty()) json["remark"] = watched.remark;
  if (watched.status) {
    json["age_s"] = watched.age_s;
    json["status"] = Json::parse(status_text(*watched.status));
  }
  for (const auto& [name, run] : watched.tasks) {
    WatchStatus of_task;
    of_task.run = run;
    json["tasks"][name] = Json::parse(status_text(of_task))["run"];
  }
  return json;
}

/// The outputs, and what has been printed of them.
class Watch {
 public:
  explicit Watch(const WatchArguments& arguments) : arguments_(arguments) {
    for (const std::string& output : arguments.outputs)
      outputs_.emplace_back(output);
  }

  /// Reads and prints; true when all have ended.
  bool show() {
    now_ = seconds_since_1970();
    bool have_ended = true;
    for (WatchedOutput& output : outputs_) {
      output.look(now_);
      const Liveness liveness = output.known().liveness;
      have_ended = have_ended && (liveness == Liveness::ended || liveness == Liveness::gone);
    }
    if (arguments_.json)
      print_json();
    else if (const Screen screen = screen_now(); arguments_.once || screen.can_rewrite)
      print_picture(screen);
    else
      print_lines();
    return have_ended;
  }

  bool is_any_there() const {
    return std::ranges::any_of(
        outputs_, [](const WatchedOutput& output) { return output.known().liveness != Liveness::missing; });
  }

 private:
  void print_json() {
    Json list = Json::array();
    for (const WatchedOutput& output : outputs_)
      list.push_back(json_of(output.known()));
    print(json_text(Json{{"time", now_}, {"outputs", std::move(list)}}) + "\n");
  }

  std::vector<PictureLine> picture(const PictureForm& form) {
    std::vector<PictureLine> lines;
    for (const WatchedOutput& output : outputs_) {
      if (!lines.empty()) lines.emplace_back();
      const std::vector<PictureLine> part = picture_of(output.known(), form);
      lines.insert(lines.end(), part.begin(), part.end());
    }
    return lines;
  }

  void print_picture(const Screen& screen) {
    // Curves are left out where the window is too low for all, then the last lines.
    PictureForm form{screen.columns, characters_of_locale(), 4, now_};
    std::vector<PictureLine> lines = picture(form);
    const bool is_live = !arguments_.once && screen.can_rewrite;
    if (is_live && lines.size() >= screen.rows && screen.rows > 0) {
      form.plot_rows = 0;
      lines = picture(form);
      lines.resize(std::min<std::size_t>(lines.size(), screen.rows - 1));
    }
    std::string text;
    if (is_live && num_lines_ > 0)
      text = columns_ == screen.columns ? fmt::format("\x1b[{}A\r", num_lines_) : "\x1b[H\x1b[2J";
    // Without line wrapping, so that a narrow window cuts lines, each of which stays one row. A line is erased before
    // it is written: after it the cursor may still be on its last column.
    if (is_live) text = "\x1b[?7l" + text;
    for (const PictureLine& line : lines)
      text += (is_live ? "\x1b[2K" : "") + painted(line, screen) + "\n";
    print(text + (is_live ? "\x1b[J\x1b[?7h" : ""));
    num_lines_ = lines.size();
    columns_ = screen.columns;
  }

  /// For logs: a line for each output that says something new, and findings and problems once.
  void print_lines() {
    for (const WatchedOutput& output : outputs_) {
      const OutputView& watched = output.known();
      // Its age changes all the time, and is nothing new.
      const std::string state = fmt::format("{} {} {}", watched.status ? watched.status->updated : 0.0,
                                            static_cast<int>(watched.liveness), watched.remark);
      if (std::exchange(last_[watched.output], state) != state) print(line_of(watched) + "\n");
      if (!watched.status) continue;
      if (watched.status->run) say_findings(watched, *watched.status->run);
      for (const auto& [name, run] : watched.tasks)
        say_findings(watched, run);
      const bool is_said = watched.status->run && watched.status->run->problem == watched.status->problem;
      if (!watched.status->problem.empty() && !is_said)
        say_once(watched, watched.status->problem,
                 fmt::format("{}  problem: {}", watched.output, watched.status->problem));
    }
  }

  void say_findings(const OutputView& watched, const WatchedRun& run) {
    for (const WatchedFinding& finding : run.findings)
      say_once(watched, run.output + finding.id, fmt::format("{}  finding: {}", watched.output, finding.text));
    if (!run.problem.empty())
      say_once(watched, run.output + run.problem, fmt::format("{}  problem: {}", watched.output, run.problem));
  }

  void say_once(const OutputView& watched, const std::string& key, const std::string& line) {
    if (said_.insert(watched.output + "\n" + key).second) print(shown(line) + "\n");
  }

  const WatchArguments& arguments_;
  std::vector<WatchedOutput> outputs_;
  std::map<std::string, std::string> last_;  ///< of each output, what its last line was about
  std::set<std::string> said_;               ///< findings and problems
  double now_ = 0;
  std::size_t num_lines_ = 0, columns_ = 0;
};

}  // namespace

ExitCode watch_command(const WatchArguments& arguments) {
  Watch watch(arguments);
  if (arguments.once) {
    watch.show();
    return watch.is_any_there() ? ExitCode::complete : ExitCode::data;
  }
  std::mutex mutex;
  std::condition_variable wake;
  bool is_asked_to_end = false;
  start_signal_thread();
  const SignalReceiver receiver([&](int /*signal*/) {
    const std::lock_guard lock(mutex);
    is_asked_to_end = true;
    wake.notify_all();
  });
  for (;;) {
    if (watch.show()) return ExitCode::complete;
    std::unique_lock lock(mutex);
    if (wake.wait_for(lock, std::chrono::duration<double>(arguments.interval_s), [&] { return is_asked_to_end; }))
      return ExitCode::complete;
  }
}

}  // namespace multicard
