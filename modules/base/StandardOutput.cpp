#include "base/StandardOutput.hpp"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

/// Opens /dev/null in place of a stream that is closed. The lowest free number is given out, so the order counts.
void take_place_of(int stream, int flags) {
  if (fcntl(stream, F_GETFD) < 0 && errno == EBADF) static_cast<void>(open("/dev/null", flags));
}

/// Ends as a program without a handler would. Files that wait for their name are no concern: nothing is printed while
/// one is open.
void end_by_closed_pipe() {
  // The exit status must say SIGPIPE, as a shell expects it: the default action is restored, the signal unblocked in
  // this thread and sent to it. Where SIGPIPE has been ignored from the start, the write is an ordinary error instead.
  struct sigaction action {};
  sigaction(SIGPIPE, nullptr, &action);
  if (action.sa_handler == SIG_IGN) return;
  action.sa_handler = SIG_DFL;
  sigaction(SIGPIPE, &action, nullptr);
  sigset_t pipe_alone;
  sigemptyset(&pipe_alone);
  sigaddset(&pipe_alone, SIGPIPE);
  pthread_sigmask(SIG_UNBLOCK, &pipe_alone, nullptr);
  raise(SIGPIPE);
}

void wait_for_room() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  poll(&output, 1, -1);
}

void prepare_streams(int, char**, char**) {
  take_place_of(STDIN_FILENO, O_RDONLY);
  take_place_of(STDOUT_FILENO, O_RDONLY);  // writing is refused
  take_place_of(STDERR_FILENO, O_WRONLY);  // a message that is discarded ends nothing
  // Before any library starts a thread, since threads inherit the mask. EPIPE and EFBIG then come from the call itself.
  sigset_t refused_writes;
  sigemptyset(&refused_writes);
  sigaddset(&refused_writes, SIGPIPE);
  sigaddset(&refused_writes, SIGXFSZ);
  sigprocmask(SIG_BLOCK, &refused_writes, nullptr);
}

/// The linker's list of what runs before the initialisers of the libraries.
[[gnu::section(".preinit_array"), gnu::used]] void (*const g_before_libraries)(int, char**, char**) = prepare_streams;

}  // namespace

void print(std::string_view text) {
  while (!text.empty()) {
    const ssize_t put = write(STDOUT_FILENO, text.data(), text.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0 && errno == EAGAIN) {  // another process made it non-blocking
      wait_for_room();
      continue;
    }
    if (put < 0) {
      const int number = errno;
      if (number == EPIPE) end_by_closed_pipe();
      throw DataError("the standard output cannot be written", system_error_text(number),
                      "Choose another file or pipe for it.");
    }
    text.remove_prefix(static_cast<std::size_t>(put));
  }
}

}  // namespace multicard
