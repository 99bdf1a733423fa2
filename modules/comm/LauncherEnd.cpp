#include "comm/LauncherEnd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// Of Linux 5.6; C libraries before 2.36 have no functions for them.
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

namespace multicard {

namespace {

constexpr int kGraceMs = 5000;    ///< in which a launcher that reaches all nodes has ended, and what it waits itself
constexpr int kAnswerMs = 2000;   ///< for the launcher to see what was done
constexpr int kMostFiles = 4096;  ///< the highest numbers of open files that are looked at

bool is_launcher(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/comm");
  std::string name;
  std::getline(file, name);
  // Not prted: that of a persistent DVM (prte) serves other jobs too.
  constexpr std::array<std::string_view, 5> kNames{"mpirun", "mpiexec", "orterun", "orted", "prterun"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

/// Milliseconds between the SIGTERM and the SIGKILL of a launcher that ends its ranks.
int own_grace_ms() {
  constexpr int kMostS = 3600;
  const char* const set = std::getenv("OMPI_MCA_odls_base_sigkill_timeout");
  return set ? 1000 * std::clamp(std::atoi(set), 0, kMostS) : 0;
}

// What follows runs in a process forked from one with many threads: it makes system calls alone, as another thread may
// have held any lock, that of the memory for instance.

bool has_ended(int launcher, int within_ms) {
  pollfd ended{launcher, POLLIN, 0};
  return poll(&ended, 1, within_ms) > 0;
}

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& found = reinterpret_cast<const sockaddr_in&>(address);
    return (ntohl(found.sin_addr.s_addr) >> 24) == 127;
  }
  const auto& found = reinterpret_cast<const sockaddr_in6&>(address);
  return IN6_IS_ADDR_LOOPBACK(&found.sin6_addr);
}

bool leads_to_another_host(int socket) {
  sockaddr_storage peer{};
  socklen_t length = sizeof(peer);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return false;
  return (peer.ss_family == AF_INET || peer.ss_family == AF_INET6) && !is_loopback(peer);
}

void shut_connections(int launcher) {
  for (int number = 0; number < kMostFiles; ++number) {
    const int copy = static_cast<int>(syscall(SYS_pidfd_getfd, launcher, number, 0));
    if (copy < 0 && errno != EBADF) return;  // not allowed
    if (copy < 0) continue;
    if (leads_to_another_host(copy)) shutdown(copy, SHUT_RDWR);
    close(copy);
  }
}

/// fork(2) without the handlers that libraries have registered for it: they expect threads that the child does not
/// have.
pid_t fork_plainly() {
  return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

[[noreturn]] void see_launcher_end(int launcher, int grace_ms) {
  // Launchers wait for the end of what comes through the pipes of their ranks.
  prctl(PR_SET_NAME, "launcher-end");
  for (int number = 0; number < kMostFiles; ++number)
    if (number != launcher) close(number);
  if (has_ended(launcher, grace_ms)) _exit(0);
  shut_connections(launcher);
  // mpirun ends at once on the third.
  for (int time = 0; time < 3 && !has_ended(launcher, kAnswerMs); ++time)
    syscall(SYS_pidfd_send_signal, launcher, SIGTERM, nullptr, 0);
  _exit(0);
}

}  // namespace

void end_launcher_later() {
  const pid_t parent = getppid();
  // A descriptor names the process even when another has its number.
  const int launcher = static_cast<int>(syscall(SYS_pidfd_open, parent, 0));
  if (launcher < 0) return;
  if (!is_launcher(parent) || getppid() != parent) {
    close(launcher);
    return;
  }
  const int grace_ms = kGraceMs + own_grace_ms();
  const pid_t child = fork_plainly();
  if (child == 0) {
    setsid();  // launchers signal the process groups of their ranks
    if (fork_plainly() == 0) see_launcher_end(launcher, grace_ms);
    _exit(0);  // so that the other is no child of the rank
  }
  if (child > 0) waitpid(child, nullptr, 0);
  close(launcher);
}

}  // namespace multicard
