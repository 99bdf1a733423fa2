#include "postproc/draw/Gnuplot.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/Error.hpp"

namespace multicard::post {

namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

/// Files rather than pipes: whatever the sizes, neither process blocks.
File scratch_file() {
  File file(std::tmpfile(), &std::fclose);
  if (!file) throw EnvironmentError("cannot create a temporary file", system_error_text(errno), "Check TMPDIR.");
  return file;
}

/// The whole file from its beginning; the child has moved the shared offset to the end.
std::string contents(std::FILE* file) {
  std::rewind(file);
  std::string text;
  std::array<char, 65536> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), file))
    text.append(buffer.data(), got);
  return text;
}

/// How the child ended (status as of waitpid) and what it wrote.
struct Outcome {
  int spawn_error = 0;
  int status = 0;
  std::string output, errors;
};

[[noreturn]] void refuse_scratch(int number) {
  throw DataError("a temporary file of a figure cannot be written", system_error_text(number), "Check TMPDIR.");
}

/// Signals as a program expects them, whatever this one has blocked: a figure that is cut off must not look whole.
class UsualSignals {
 public:
  UsualSignals() {
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }
  ~UsualSignals() { posix_spawnattr_destroy(&attributes_); }
  UsualSignals(const UsualSignals&) = delete;
  UsualSignals& operator=(const UsualSignals&) = delete;
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

/// Runs `program argument` with `input` as its standard input and waits for it.
Outcome start(const std::string& program, const char* argument, const std::string& input) {
  const File in = scratch_file(), out = scratch_file(), err = scratch_file();
  if (std::fwrite(input.data(), 1, input.size(), in.get()) != input.size() || std::fflush(in.get()) != 0)
    refuse_scratch(errno);
  std::rewind(in.get());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(out.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(err.get()), STDERR_FILENO);
  std::string name = program, option = argument;
  std::array<char*, 3> arguments{name.data(), option.data(), nullptr};
  pid_t child = 0;
  Outcome outcome;
  const UsualSignals signals;
  outcome.spawn_error =
      posix_spawnp(&child, program.c_str(), &actions, signals.attributes(), arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (outcome.spawn_error) return outcome;
  // Signals that this program handles may interrupt the wait.
  while (waitpid(child, &outcome.status, 0) < 0 && errno == EINTR) {
  }
  outcome.output = contents(out.get());
  outcome.errors = contents(err.get());
  return outcome;
}

bool succeeded(const Outcome& outcome) {
  return outcome.spawn_error == 0 && WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 0;
}

}  // namespace

Gnuplot::Gnuplot(std::string program) : program_(std::move(program)) {
  // gnuplot may be missing, or be an unusable link: only running it shows.
  available_ = succeeded(start(program_, "--version", ""));
}

std::string Gnuplot::run(const std::string& script) const {
  // -d: the user's start-up file must not change the figures.
  const Outcome outcome = start(program_, "-d", script);
  // The limit of file sizes (ulimit -f) is the user's, not a failure of gnuplot.
  if (WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGXFSZ) refuse_scratch(EFBIG);
  if (!succeeded(outcome))
    throw EnvironmentError("gnuplot could not draw a figure", outcome.errors.substr(0, 400),
                           "Check that gnuplot is version 5.4 or newer.");
  return outcome.output;
}

/// In single quotes gnuplot interprets nothing but the doubled quote; line breaks would end the command.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\'')
      out += "''";
    else
      out += code < 0x20 || code == 0x7f ? ' ' : c;
  }
  return out + "'";
}

}  // namespace multicard::post
