#include "base/Terminal.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"

namespace multicard {

namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_pipe(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode);
}

/// Whether mpirun itself, rather than a shell or Slurm, has started this process. A rank on a node of its own has Open
/// MPI's daemon for a parent, whose standard error is not a terminal.
bool is_child_of_mpirun() {
  if (variable("OMPI_COMM_WORLD_RANK").empty()) return false;
  std::ifstream file(fmt::format("/proc/{}/comm", getppid()));
  std::string name;
  std::getline(file, name);
  constexpr std::array kLaunchers{"mpirun", "mpiexec", "orterun", "mpirun.openmpi", "mpiexec.openmpi", "prterun"};
  return std::find(kLaunchers.begin(), kLaunchers.end(), name) != kLaunchers.end();
}

/// Where mpirun's standard error is a terminal, that terminal. A pipe is not opened: its writer would then not notice
/// that its reader has left.
int open_terminal_of_mpirun() {
  const std::string path = fmt::format("/proc/{}/fd/2", getppid());
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) return -1;
  return open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
}

bool is_set(const char* name) {
  const std::string_view value = variable(name);
  return !value.empty() && value != "0" && value != "false";
}

bool mpirun_labels_lines() {
  return is_set("OMPI_MCA_orte_tag_output") || is_set("OMPI_MCA_orte_timestamp_output");
}

}  // namespace

ProgressMode progress_mode() {
  const std::string word(variable("MULTICARD_PROGRESS"));
  if (word.empty() || word == "auto") return ProgressMode::automatic;
  if (word == "live") return ProgressMode::live;
  if (word == "plain") return ProgressMode::plain;
  if (word == "off") return ProgressMode::off;
  throw UsageError(fmt::format("MULTICARD_PROGRESS is '{}'", word), "", "Set auto, live, plain or off.");
}

Terminal::Terminal() {
  if (isatty(STDERR_FILENO) == 1) {
    descriptor_ = STDERR_FILENO;
  } else if (is_pipe(STDERR_FILENO) && is_child_of_mpirun()) {
    descriptor_ = open_terminal_of_mpirun();
    is_own_ = descriptor_ >= 0;
  }
  // A label would stand in front of the first version of the line only, and "\r" would write over it.
  is_there_ = descriptor_ >= 0 && isatty(descriptor_) == 1;
  can_rewrite_ = is_there_ && variable("TERM") != "dumb" && !mpirun_labels_lines();
}

Terminal::~Terminal() {
  if (is_own_) close(descriptor_);
}

namespace {

std::optional<std::size_t> columns_of(int descriptor) {
  winsize size{};
  if (descriptor < 0 || ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

}  // namespace

std::optional<std::size_t> error_columns() {
  static const Terminal terminal;
  return terminal.is_there() ? terminal.columns() : std::nullopt;
}

std::optional<std::size_t> output_columns() {
  return columns_of(STDOUT_FILENO);
}

std::optional<std::size_t> Terminal::columns() const {
  if (const auto width = columns_of(descriptor_)) return width;
  // A shell exports COLUMNS seldom, and does not change it with the window: only where the terminal does not say.
  const int columns = std::atoi(std::string(variable("COLUMNS")).c_str());
  if (columns > 0) return static_cast<std::size_t>(columns);
  return std::nullopt;
}

namespace {

/// Whether `word` is the unit of the number before it, as in "973 kB".
bool is_unit(const std::string& line, const std::string& word) {
  constexpr std::size_t kLongest = 6;
  const bool follows_number = !line.empty() && line.back() >= '0' && line.back() <= '9';
  return follows_number && !word.empty() && word.size() <= kLongest && (word.front() < '0' || word.front() > '9');
}

/// `text` cut at its spaces, except those between a number and its unit.
std::vector<std::string> unbreakable_parts(const std::string& text) {
  std::vector<std::string> parts;
  for (const std::string& word : split(text, ' ')) {
    if (!parts.empty() && is_unit(parts.back(), word))
      parts.back() += " " + word;
    else
      parts.push_back(word);
  }
  return parts;
}

}  // namespace

std::string wrapped(const std::string& text, std::size_t columns, std::size_t indent) {
  if (num_characters(text) <= columns) return text;
  std::string out, line;
  bool is_new = true;  // the line has no word yet
  for (const std::string& word : unbreakable_parts(text)) {
    if (!is_new && num_characters(line) + 1 + num_characters(word) > columns) {
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
      line = std::string(indent, ' ');
      is_new = true;
    }
    if (is_new && word.empty() && !out.empty()) continue;  // of several spaces at a break
    line += is_new ? word : " " + word;
    is_new = false;
  }
  return out + line;
}

std::string wrapped_help(const std::string& text, std::size_t indent) {
  constexpr std::size_t kUsual = 80;
  const std::size_t columns = std::max(Terminal().columns().value_or(kUsual), kUsual) - 1;
  std::vector<std::string> lines = split(text, '\n');
  for (std::string& line : lines)
    line = wrapped(line, columns, line.starts_with(' ') ? indent : 0);
  return join(lines, "\n");
}

}  // namespace multicard
