// Handlers that a library might have installed: preloaded into multicard, they end it with 99 where a second thread
// runs one, since all signals belong to one thread. Their frames are as large as those of real ones.
#include <atomic>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

namespace {

std::atomic<pid_t> g_thread = 0;

void handle(int) {
  volatile char frame[4096];
  memset(const_cast<char*>(frame), 0x5a, sizeof frame);
  pid_t expected = 0;
  if (g_thread.compare_exchange_strong(expected, gettid()) || expected == gettid()) return;
  constexpr char kText[] = "a handler runs on a second thread\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
  _exit(99);
}

[[gnu::constructor]] void install() {
  if (strcmp(program_invocation_short_name, "multicard") != 0) return;  // nor its launcher, nor its daemon
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGWINCH, SIGURG, SIGCONT, SIGALRM, SIGPROF, SIGIO})
    sigaction(signal, &action, nullptr);
}

}  // namespace
