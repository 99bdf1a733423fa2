#include "fuzz/Child.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <dlfcn.h>
#include <execinfo.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz/Target.hpp"

// Only where the program is instrumented: what it has covered, and what is called before a sanitizer ends it.
extern "C" {
[[gnu::weak, gnu::visibility("hidden")]] extern std::uint8_t __start___sancov_cntrs[];
[[gnu::weak, gnu::visibility("hidden")]] extern std::uint8_t __stop___sancov_cntrs[];
[[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());
}

namespace multicard::fuzz {

namespace {

constexpr int kInLibrary = 99, kFinding = 98;
constexpr unsigned kMostSeconds = 10;

/// Called where a child ends unexpectedly: whether libhdf5 is at work, above which there is only this project's code.
bool is_inside_library() {
  std::array<void*, 128> frames;
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    if (dladdr(frames[static_cast<std::size_t>(i)], &info) && info.dli_fname &&
        std::string_view(info.dli_fname).find("libhdf5") != std::string_view::npos)
      return true;
  }
  return false;
}

void end_child() {
  _exit(is_inside_library() ? kInLibrary : kFinding);
}

void end_child_by_signal(int signal) {
  if (is_inside_library()) _exit(kInLibrary);
  std::fprintf(stderr, "FINDING: signal %d (%s)\n", signal, strsignal(signal));
  std::array<void*, 64> frames;
  backtrace_symbols_fd(frames.data(), backtrace(frames.data(), static_cast<int>(frames.size())), STDERR_FILENO);
  _exit(kFinding);
}

/// What the child has covered is not seen in this process unless it is carried over.
class Coverage {
 public:
  Coverage() : size_(static_cast<std::size_t>(__stop___sancov_cntrs - __start___sancov_cntrs)) {
    if (size_ > 0)
      shared_ =
          static_cast<std::uint8_t*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  }
  void send() const {
    if (size_ > 0) std::memcpy(shared_, __start___sancov_cntrs, size_);
  }
  void receive() const {
    if (size_ > 0) std::memcpy(__start___sancov_cntrs, shared_, size_);
  }

 private:
  std::size_t size_;
  std::uint8_t* shared_ = nullptr;
};

struct Counts {
  long runs = 0, in_library = 0;
  ~Counts() {
    if (in_library > 0) std::fprintf(stderr, "crashes inside libhdf5: %ld of %ld inputs\n", in_library, runs);
  }
};

[[noreturn]] void be_child(const std::function<void()>& body, const Coverage& coverage) {
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGALRM})
    std::signal(signal, end_child_by_signal);
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(end_child);
  alarm(kMostSeconds);
  run(body);
  coverage.send();
  _exit(0);
}

}  // namespace

void in_child(const std::function<void()>& body) {
  static const Coverage coverage;
  static Counts counts;
  static const bool kUnwinderIsLoaded = [] {  // backtrace() allocates at its first call
    void* frame = nullptr;
    return backtrace(&frame, 1) > 0;
  }();
  require(kUnwinderIsLoaded, "the stack cannot be walked");
  const pid_t child = fork();
  require(child >= 0, "fork failed");
  if (child == 0) be_child(body, coverage);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    require(errno == EINTR, "waitpid failed");
  ++counts.runs;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == kInLibrary) ++counts.in_library;
  if (code == 0) coverage.receive();
  if (code != 0 && code != kInLibrary) report_finding(fmt::format("the reader ended with wait status {}", status));
}

}  // namespace multicard::fuzz
