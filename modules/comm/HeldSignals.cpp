#include "comm/HeldSignals.hpp"

#include <initializer_list>

namespace multicard {

namespace {

sigset_t held_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGUSR1, SIGUSR2, SIGTERM, SIGINT, SIGHUP})
    sigaddset(&set, signal);
  return set;
}

}  // namespace

void hold_signals() {
  const sigset_t set = held_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

struct sigaction handle_signal(int signal, const struct sigaction& action) {
  struct sigaction before {};
  sigaction(signal, nullptr, &before);
  const bool is_left_alone = signal == SIGHUP && before.sa_handler == SIG_IGN;
  if (!is_left_alone) sigaction(signal, &action, nullptr);
  return before;
}

DeliveredSignals::DeliveredSignals() {
  const sigset_t set = held_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, &before_);
}

DeliveredSignals::~DeliveredSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace multicard
