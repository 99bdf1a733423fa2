#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include <cxxabi.h>
#include <execinfo.h>

#include "cudart/Runtime.hpp"

namespace fake {

namespace {

constexpr std::size_t kMostSites = 4000;

struct Counters {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, Counter> all;
  std::map<std::pair<std::string, std::vector<void*>>, std::uint64_t> sites;
  std::vector<Asked> order;
};

/// Never destroyed: other libraries count while the process ends.
Counters& counters() {
  static auto* const one = new Counters;
  return *one;
}

}  // namespace

Counter& counter(const char* kind, const std::string& name) {
  Counters& known = counters();
  const std::lock_guard lock(known.mutex);
  Counter& found = known.all[{kind, name}];
  if (found.kind.empty()) {
    found.kind = kind;
    found.name = name;
  }
  return found;
}

std::vector<NamedCounter> all_counters() {
  Counters& known = counters();
  const std::lock_guard lock(known.mutex);
  std::vector<NamedCounter> result;
  for (const auto& [key, counter] : known.all)
    if (counter.calls > 0) result.push_back({key.first, key.second, counter.calls, counter.amount});
  return result;
}

std::vector<void*> call_stack() {
  std::vector<void*> frames(48);
  frames.resize(static_cast<std::size_t>(backtrace(frames.data(), static_cast<int>(frames.size()))));
  return frames;
}

void add_site(const std::string& what, const std::vector<void*>& frames) {
  Counters& known = counters();
  const std::lock_guard lock(known.mutex);
  if (known.sites.size() < kMostSites) ++known.sites[{what, frames}];
}

void note_site(const std::string& what) {
  if (settings().keeps_sites) add_site(what, call_stack());
}

std::vector<Site> all_sites() {
  Counters& known = counters();
  const std::lock_guard lock(known.mutex);
  std::vector<Site> result;
  for (const auto& [key, count] : known.sites)
    result.push_back({key.first, key.second, count});
  return result;
}

void note_order(const std::string& what, std::uint64_t bytes, const void* from) {
  if (!settings().keeps_order) return;
  Counters& known = counters();
  const std::lock_guard lock(known.mutex);
  known.order.push_back({what, bytes, from});
}

std::vector<Asked> all_asked() {
  Counters& known = counters();
  const std::lock_guard lock(known.mutex);
  return known.order;
}

std::string demangled(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : name;
  std::free(text);
  return result;
}

void not_written(const char* name) {
  std::fprintf(stderr, "fake GPU: %s is called and not written yet: see tests/fake_gpu\n", name);
  std::abort();
}

}  // namespace fake

/// What the generated stubs call.
FAKE_API void fake_not_written(const char* name) {
  fake::not_written(name);
}
