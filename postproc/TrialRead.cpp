#include "postproc/TrialRead.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "io/Seal.hpp"
#include "results/ResultsReader.hpp"

namespace multicard::post {

namespace {

/// Many times what reading takes.
rlim_t seconds_for(const std::string& path) {
  constexpr std::uint64_t kBytesPerSecond = 10 << 20;
  return 20 + RegularFile(path).size() / kBytesPerSecond;
}

/// Neither a core file nor the last words of the C library: the parent says what happened.
void die_quietly(rlim_t seconds) {
  const rlimit no_core{0, 0}, time{seconds, seconds + 1};
  setrlimit(RLIMIT_CORE, &no_core);
  setrlimit(RLIMIT_CPU, &time);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
}

void read_all(const std::string& path) {
  try {
    const ResultsFile file = ResultsFile::open(path);
    file.provenance();
    for (const std::string& run : file.run_names())
      file.run(run);
  } catch (const std::exception&) {
    // The parent meets it too.
  }
}

}  // namespace

void read_on_trial(const std::string& path) {
  if (check_seal(path)) return;
  const rlim_t seconds = seconds_for(path);
  const pid_t child = fork();
  if (child < 0) throw EnvironmentError("a process cannot be started", system_error_text(errno));
  if (child == 0) {
    die_quietly(seconds);
    read_all(path);
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFSIGNALED(status)) return;
  const int signal = WTERMSIG(status);
  throw DataError(fmt::format("{} is damaged", path),
                  signal == SIGXCPU ? "libhdf5 does not come to its end"
                                    : fmt::format("libhdf5 crashes while it reads it: {}", strsignal(signal)));
}

}  // namespace multicard::post
