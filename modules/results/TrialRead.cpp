#include "results/TrialRead.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "io/Seal.hpp"
#include "results/ResultsReader.hpp"

namespace multicard {

namespace {

/// A limit many times longer than reading takes.
rlim_t seconds_for(const std::string& path) {
  constexpr std::uint64_t kBytesPerSecond = 10 << 20;
  return 20 + RegularFile(path).size() / kBytesPerSecond;
}

/// No core file and no message of the C library: the parent reports what happened. And not beyond the parent's end.
void die_quietly(rlim_t seconds) {
  // Processor time, not time of day: a busy machine or a slow disk does not mean a damaged file. At the soft limit
  // comes SIGXCPU, by which the parent knows the reason, at the hard one SIGKILL.
  const rlimit no_core{0, 0}, time{seconds, seconds + 1};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setrlimit(RLIMIT_CORE, &no_core);
  setrlimit(RLIMIT_CPU, &time);
  std::signal(SIGXCPU, SIG_DFL);  // where it is ignored or blocked, SIGKILL would follow
  sigset_t none;
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
}

void read_all(const std::string& path) {
  const ResultsFile file = ResultsFile::open(path, Seal::is_checked);
  file.provenance();
  file.allocation();
  for (const std::string& run : file.run_names())
    file.run(run);
}

/// Restores the default action of SIGCHLD for its lifetime: where the signal is ignored, waitpid() fails.
class ChildrenStay {
 public:
  ChildrenStay() {
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &by_default, &before_);
  }
  ~ChildrenStay() { sigaction(SIGCHLD, &before_, nullptr); }
  ChildrenStay(const ChildrenStay&) = delete;
  ChildrenStay& operator=(const ChildrenStay&) = delete;

 private:
  struct sigaction before_ {};
};

/// The wait status of a child that called `reading`.
int status_of_child(const std::function<void()>& reading, rlim_t seconds) {
  const ChildrenStay children_stay;
  // The child has this thread alone; a lock that another one held at this moment would stay locked in it.
  const pid_t child = fork();
  if (child < 0) throw EnvironmentError("a process cannot be started", system_error_text(errno));
  if (child == 0) {
    die_quietly(seconds);
    try {
      reading();
    } catch (const std::exception&) {
      // The parent will get the same error.
    }
    // Not exit: the child shares the parent's unwritten output and its handlers for the end (MPI's, HDF5's).
    _exit(0);
  }
  int status = 0;
  pid_t ended = -1;
  do
    ended = waitpid(child, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (ended < 0) throw EnvironmentError("a process cannot be waited for", system_error_text(errno));
  return status;
}

}  // namespace

void read_on_trial(const std::string& path) {
  check_seal(path);
  read_on_trial(path, [&] { read_all(path); });
}

void read_on_trial(const std::string& path, const std::function<void()>& reading) {
  const int status = status_of_child(reading, seconds_for(path));
  // An error that the child has met and caught is found again by the real reading, which says it in words.
  if (!WIFSIGNALED(status)) return;
  const int signal = WTERMSIG(status);
  if (signal == SIGKILL)
    throw EnvironmentError(fmt::format("{} cannot be read", path), "the child process that read it first was killed",
                           "Perhaps there was too little memory: see dmesg.");
  throw DataError(fmt::format("{} is damaged", path),
                  signal == SIGXCPU ? "libhdf5 does not finish"
                                    : fmt::format("libhdf5 crashes while it reads it: {}", strsignal(signal)));
}

}  // namespace multicard
