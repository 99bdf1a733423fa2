#include "base/System.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

#include <malloc.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/Clock.hpp"
#include "base/MemoryLimit.hpp"
#include "base/Secrets.hpp"
#include "base/SharedPages.hpp"

namespace multicard {

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

bool is_running(std::int64_t process) {
  if (kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH) return false;
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t name_end = stat.rfind(')');  // "NUMBER (NAME) STATE ..."; a name may hold brackets
  return name_end == std::string::npos || !stat.substr(name_end).starts_with(") Z");
}

std::string kernel_version() {
  utsname info{};
  uname(&info);
  return std::string(info.sysname) + " " + info.release;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

namespace {

std::vector<int> affinity() {
  // The kernel refuses a mask shorter than its own: on a machine of more than 1024 processors the list stays empty.
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

}  // namespace

int available_cpus() {
  return std::max(1, static_cast<int>(affinity().size()));
}

std::string cpu_set_text() {
  const std::vector<int> cpus = affinity();
  std::ostringstream out;
  for (std::size_t first = 0; first < cpus.size();) {
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1)
      ++last;
    out << (first ? "," : "") << cpus[first];
    if (last > first) out << '-' << cpus[last];
    first = last + 1;
  }
  return out.str();
}

void reset_peak_resident_bytes() {
  // Freed pages that malloc keeps would count in the new peak from the start. 5 in clear_refs resets VmHWM (proc(5)).
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5";
}

std::int64_t peak_resident_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024 - resident_bytes_of_others();
  // Where /proc hides VmHWM; ru_maxrss is the same in KiB, but nothing resets it.
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024 - resident_bytes_of_others();
}

std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE) - resident_bytes_of_others();
}

std::int64_t available_memory_bytes() {
  std::int64_t available = 0;
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("MemAvailable:", 0) == 0) available = std::stoll(line.substr(13)) * 1024;
  // In a container this is its own group. The root group of a machine has no memory.max and therefore no limit.
  if (const auto left = memory_left_in("/sys/fs/cgroup")) available = std::min(available, *left);
  return available;
}

std::map<std::string, std::string> environment_with(const std::vector<std::string>& prefixes) {
  std::map<std::string, std::string> found;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const auto begins = [&](const std::string& prefix) { return name.starts_with(prefix); };
    if (equals != std::string::npos && std::any_of(prefixes.begin(), prefixes.end(), begins) &&
        !speaks_of_secrets(name))
      found[name] = without_secrets(text.substr(equals + 1));
  }
  return found;
}

void keep_freed_memory() {
  // No block comes from mmap, whose munmap returns it at once; the heap is trimmed only above 2 GiB at its end, and
  // grows by 64 MiB at least.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 2147483647);
  mallopt(M_TOP_PAD, 64 << 20);
}

double seconds_since_launch() {
  // From the kernel's start time rather than from main: loading LibTorch and CUDA takes seconds that a wall limit must
  // count. Both times are since boot, with suspended time, in ticks of 1/100 s as a rule.
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string field;
  for (int i = 0; i < 20; ++i)
    fields >> field;  // field 22 of the line: start time in ticks since boot
  const double started = std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec) - started;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace multicard
