#include "base/Log.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/Colour.hpp"
#include "base/Shown.hpp"
#include "base/Terminal.hpp"
#include "base/Text.hpp"

namespace multicard {

namespace {

struct Identity {
  int rank = 0;
  int size = 1;
  std::string host;
};

Identity& identity() {
  static Identity instance;
  return instance;
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      return spdlog::level::off;
  }
  return spdlog::level::info;
}

/// Unknown words count as info: to spdlog they would mean silence.
spdlog::level::level_enum level_named(const std::string& word) {
  const spdlog::level::level_enum level = spdlog::level::from_str(word == "warning" ? "warn" : word);
  return level == spdlog::level::off && word != "off" ? spdlog::level::info : level;
}

spdlog::logger& logger() {
  static spdlog::logger instance = [] {
    spdlog::logger made("multicard", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_pattern("%v");
    const char* level = std::getenv("MULTICARD_LOG");
    made.set_level(level_named(level ? level : "info"));
    made.flush_on(spdlog::level::debug);
    return made;
  }();
  return instance;
}

/// What LogRank says; for each thread, since others may work for all ranks.
std::optional<int>& rank_of_thread() {
  thread_local std::optional<int> rank;
  return rank;
}

bool speaks() {
  // Decided without communication, so that a message may stand on any path: rank 0 speaks, or nothing is said.
  return rank_of_thread().value_or(identity().rank) == 0;
}

/// Where the text of a line begins that starts with a label and at least two spaces; else 2.
std::size_t indent_of(const std::string& message) {
  // Lines such as "  loss      2.31 ..." continue under their text, not under the label.
  constexpr std::size_t kLongestLabel = 18, kUsual = 2;
  const std::size_t label = message.find_first_not_of(' ');
  const std::size_t gap = message.find("  ", label);
  if (gap > kLongestLabel) return kUsual;  // npos, too
  const std::size_t text = message.find_first_not_of(' ', gap);
  return text == std::string::npos ? kUsual : text;
}

/// The message as a terminal shows it best; files and pipes get its lines as they are.
std::string laid_out(const std::string& given) {
  constexpr std::size_t kLongest = 20'000;
  std::string message = shown(given, kLongest);
  const std::optional<std::size_t> columns = error_columns();
  constexpr std::size_t kNarrowest = 40;  // below that broken lines are harder to read than long ones
  if (!columns || *columns < kNarrowest) return message;
  std::vector<std::string> lines = split(message, '\n');
  for (std::string& line : lines)
    line = wrapped(line, *columns - 1, indent_of(line));
  return join(lines, "\n");
}

constexpr const char* kEraseLine = "\r\033[K";

/// Whether a line of standard error waits to be rewritten.
std::atomic<bool>& is_line_open() {
  static std::atomic<bool> is_open = false;
  return is_open;
}

/// In one write: mpirun joins what several ranks write.
void write_error(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

/// "multicard: ", "multicard-post: "
std::string program() {
  return std::string(program_invocation_short_name) + ": ";
}

/// \param head what `message` begins with, which stands out where there are colours
void say(LogLevel level, const std::string& head, const std::string& message) {
  const spdlog::level::level_enum as = to_spdlog(level);
  if (!logger().should_log(as)) return;
  std::string text = laid_out(head + message);
  if (!head.empty() && text.starts_with(head))
    text.replace(0, head.size(), coloured(head, level == LogLevel::error ? Colour::red : Colour::yellow));
  // The open line is erased in the same write as the message: two writes could have another rank's text between them.
  logger().log(as, is_line_open().exchange(false) ? kEraseLine + text : text);
}

/// Warnings that were said. A sweep would repeat those of its deck with every variant.
class SaidWarnings {
 public:
  /// Whether it is new.
  bool add(const std::string& message) {
    const std::lock_guard lock(mutex_);
    return said_.insert(message).second;
  }
  void forget() {
    const std::lock_guard lock(mutex_);
    said_.clear();
  }

 private:
  std::mutex mutex_;
  std::set<std::string> said_;
};

SaidWarnings& said_warnings() {
  static SaidWarnings instance;
  return instance;
}

}  // namespace

void set_log_identity(int rank, int size, const std::string& host) {
  identity() = {rank, size, host};
}

void set_log_level(LogLevel level) {
  logger().set_level(to_spdlog(level));
  said_warnings().forget();
}

LogRank::LogRank(int rank) : before_(std::exchange(rank_of_thread(), rank)) {}

LogRank::~LogRank() {
  rank_of_thread() = before_;
}

void log_debug(const std::string& message) {
  if (speaks()) say(LogLevel::debug, "", message);
}
void log_info(const std::string& message) {
  if (speaks()) say(LogLevel::info, "", message);
}
void log_warning(const std::string& message) {
  if (speaks() && said_warnings().add(message)) say(LogLevel::warning, "warning: ", message);
}
void log_error(const std::string& message) {
  if (speaks()) say(LogLevel::error, program(), message);
}
void log_error_line(const std::string& message) {
  if (speaks()) say(LogLevel::error, "", message);
}

void log_local_error(const std::string& message) {
  const Identity& self = identity();
  if (self.size == 1)
    say(LogLevel::error, program(), message);
  else
    say(LogLevel::error, fmt::format("rank {} on {}: ", self.rank, self.host), message);
}

void write_open_line(const std::string& text) {
  // Set before the write, so that a message of another thread in between erases rather than continues the line.
  is_line_open() = true;
  write_error(kEraseLine + text);
}

void end_open_line() {
  if (is_line_open().exchange(false)) write_error("\n");
}

void erase_open_line() {
  if (is_line_open().exchange(false)) write_error(kEraseLine);
}

}  // namespace multicard
