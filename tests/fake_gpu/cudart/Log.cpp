// The counts as JSON, written when the process ends in order and when the steps of FAKE_GPU_LOG_AT have been done.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

#include "cudart/Runtime.hpp"

namespace fake {

namespace {

using Clock = std::chrono::steady_clock;

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= ' ') result += c;
  }
  return result + '"';
}

template <typename Values, typename Show>
std::string joined(const Values& values, const char* separator, const Show& show) {
  std::string result;
  for (const auto& value : values)
    result += (result.empty() ? "" : separator) + show(value);
  return result;
}

std::string frame_json(void* frame) {
  Dl_info info{};
  if (!dladdr(frame, &info)) return "[\"\", \"0\", \"\"]";
  char offset[32];
  std::snprintf(offset, sizeof offset, "%lx",
                reinterpret_cast<std::uintptr_t>(frame) - reinterpret_cast<std::uintptr_t>(info.dli_fbase));
  const std::string name = info.dli_sname ? demangled(info.dli_sname) : "";
  return "[" + quoted(info.dli_fname) + ", \"" + offset + "\", " + quoted(name) + "]";
}

std::string counters_json() {
  std::string result, kind;
  for (const NamedCounter& one : all_counters()) {
    if (one.kind != kind)
      result += (kind.empty() ? "" : "},\n") + quoted(one.kind) + ": {\n  ";
    else
      result += ",\n  ";
    kind = one.kind;
    const std::string name = kind == "kernel" ? demangled(one.name) : one.name;
    result += quoted(name) + ": [" + std::to_string(one.calls) + ", " + std::to_string(one.amount) + "]";
  }
  return kind.empty() ? "" : result + "},\n";
}

std::string asked_json(const Asked& one) {
  return "[" + quoted(one.what) + ", " + std::to_string(one.bytes) + ", " +
         std::to_string(reinterpret_cast<std::uintptr_t>(one.from)) + "]";
}

std::string text_of_log(double seconds) {
  std::vector<int> devices(static_cast<std::size_t>(num_devices()));
  for (std::size_t i = 0; i < devices.size(); ++i)
    devices[i] = static_cast<int>(i);
  const auto number = [](auto value) { return std::to_string(value); };
  return "{\"seconds\": " + std::to_string(seconds) + ",\n\"peak_device_bytes\": [" +
         joined(devices, ", ", [](int device) { return std::to_string(peak_memory(device)); }) + "],\n" +
         counters_json() + "\"live_events\": " + std::to_string(num_live_events()) + ",\n\"event_wait_ages\": [" +
         joined(event_wait_ages(), ", ", number) + "],\n\"order\": [" + joined(all_asked(), ",\n  ", asked_json) +
         "],\n\"sites\": [" +
         joined(all_sites(), ",\n  ",
                [](const Site& site) {
                  return "{\"what\": " + quoted(site.what) + ", \"count\": " + std::to_string(site.count) +
                         ", \"frames\": [" + joined(site.frames, ",\n    ", frame_json) + "]}";
                }) +
         "]}\n";
}

/// From the loading of the library on.
class CountsLog {
 public:
  CountsLog() { std::atexit(write_at_exit); }

  /// Into LOG.RANK and the suffix.
  static void write(const std::string& suffix) {
    const char* path = std::getenv("FAKE_GPU_LOG");
    if (!path || all_counters().empty()) return;  // mpirun and shells have the library too
    const std::string name = std::string(path) + "." + std::to_string(rank()) + suffix;
    std::FILE* file = std::fopen(name.c_str(), "w");
    if (!file) return;
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    std::fputs(text_of_log(seconds).c_str(), file);
    std::fclose(file);
  }

 private:
  static void write_at_exit() { write(""); }

  static inline const Clock::time_point start_ = Clock::now();
};

const CountsLog counts_log;

std::atomic<std::int64_t> num_begun{0};

}  // namespace

std::int64_t num_begun_steps() {
  return num_begun;
}

void begin_step() {
  const std::int64_t done = num_begun++;
  const std::vector<std::int64_t>& asked = settings().log_at;
  if (std::find(asked.begin(), asked.end(), done) != asked.end()) CountsLog::write("." + std::to_string(done));
}

}  // namespace fake
