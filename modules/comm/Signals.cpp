#include "comm/Signals.hpp"

#include <csignal>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <utility>
#include <vector>

#include "base/Thread.hpp"

namespace multicard {

namespace {

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals)
    sigaddset(&set, signal);
  return set;
}

/// What the signal thread waits for.
sigset_t awaited_signals() {
  sigset_t set = set_of({SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGHUP});
  // nohup and some batch systems start the program with SIGHUP ignored. sigwait would take it all the same.
  struct sigaction hang_up {};
  sigaction(SIGHUP, nullptr, &hang_up);
  if (hang_up.sa_handler == SIG_IGN) sigdelset(&set, SIGHUP);
  return set;
}

/// Signals on their way from the signal thread to the receiver.
class Inbox {
 public:
  /// Never destroyed: the signal thread uses it until the process has ended.
  static Inbox& of_process() {
    static Inbox& inbox = *new Inbox;
    return inbox;
  }

  void deliver(int signal) {
    // The receiver runs with the mutex held: so close() waits for it, and it is never called after that. It must not
    // open or close an inbox itself.
    const std::lock_guard lock(mutex_);
    if (receive_)
      receive_(signal);
    else
      kept_.push_back(signal);
  }

  void open(std::function<void(int)> receive) {
    const std::lock_guard lock(mutex_);
    receive_ = std::move(receive);
    for (const int signal : std::exchange(kept_, {}))
      receive_(signal);
  }

  void close() {
    const std::lock_guard lock(mutex_);
    receive_ = nullptr;
  }

 private:
  std::mutex mutex_;
  std::function<void(int)> receive_;
  std::vector<int> kept_;
};

[[noreturn]] void take_signals() {
  const sigset_t awaited = awaited_signals();
  sigset_t blocked = awaited;
  for (const int of_a_write : {SIGPIPE, SIGXFSZ})  // the write of this thread fails instead, as those of all others
    sigaddset(&blocked, of_a_write);
  pthread_sigmask(SIG_SETMASK, &blocked, nullptr);
  for (;;) {
    int signal = 0;
    if (sigwait(&awaited, &signal) == 0) Inbox::of_process().deliver(signal);
  }
}

}  // namespace

void hold_signals() {
  // A blocked fault would still end the process, but past the handlers that report it (sanitizers, MPI's stack traces).
  const sigset_t faults = set_of({SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT});
  sigset_t held;
  sigfillset(&held);
  for (int signal = 1; signal < NSIG; ++signal)
    if (sigismember(&faults, signal) == 1) sigdelset(&held, signal);
  pthread_sigmask(SIG_SETMASK, &held, nullptr);
}

void start_signal_thread() {
  static std::once_flag once;
  std::call_once(once, [] { start_thread("the thread that waits for signals", "signals", take_signals).detach(); });
}

SignalReceiver::SignalReceiver(std::function<void(int)> receive) {
  Inbox::of_process().open(std::move(receive));
}

SignalReceiver::~SignalReceiver() {
  Inbox::of_process().close();
}

std::string signal_name(int signal) {
  const char* abbreviation = sigabbrev_np(signal);
  return abbreviation ? std::string("SIG") + abbreviation : "signal " + std::to_string(signal);
}

}  // namespace multicard
