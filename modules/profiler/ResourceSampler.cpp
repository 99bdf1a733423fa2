#include "profiler/ResourceSampler.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/System.hpp"
#include "base/Thread.hpp"

namespace multicard {

namespace {

constexpr auto kInterval = std::chrono::seconds(1);
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double unix_time_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

ResourceSampler::ResourceSampler(const Sources& sources)
    : gpu_(sources.gpu_bus_id.empty() ? nullptr : GpuSensors::open(sources.gpu_bus_id)),
      num_sharing_(sources.num_sharing),
      node_(sources.has_node ? std::make_unique<PackageEnergy>() : nullptr),
      time_(SteadyClock::now()),
      totals_(read().totals),
      thread_(start_thread("the samples of resources", "resources", [this] { run(); })) {}

ResourceSampler::~ResourceSampler() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

ResourceSampler::Columns ResourceSampler::sample_and_copy() {
  const std::lock_guard lock(mutex_);
  sample();
  return columns_;
}

ResourceSampler::Columns ResourceSampler::newest(std::size_t most) {
  const std::lock_guard lock(mutex_);
  Columns columns;
  for (const auto& [name, values] : columns_)
    columns[name].assign(values.end() - static_cast<std::ptrdiff_t>(std::min(most, values.size())), values.end());
  return columns;
}

ResourceSampler::Reading ResourceSampler::read() {
  Reading reading = gpu_ ? gpu_->read() : Reading{};
  for (auto& [name, joules] : reading.totals)
    joules /= num_sharing_;
  const ProcessUse use = process_use();
  const auto total = [&](const char* name, auto value) { reading.totals[name] = static_cast<double>(value); };
  total("cpu_s", use.cpu_s);
  total("minor_faults", use.minor_faults);
  total("major_faults", use.major_faults);
  total("voluntary_switches", use.voluntary_switches);
  total("involuntary_switches", use.involuntary_switches);
  if (use.storage_read_bytes) total("storage_read_bytes", *use.storage_read_bytes);
  if (use.storage_written_bytes) total("storage_written_bytes", *use.storage_written_bytes);
  if (use.core_wait_s) total("core_wait_s", *use.core_wait_s);
  if (node_)
    if (const auto joules = node_->joules()) total("node_energy_j", *joules);
  reading.now["resident_bytes"] = static_cast<double>(resident_bytes());
  return reading;
}

void ResourceSampler::sample() {
  Reading reading = read();
  const TimePoint time = SteadyClock::now();
  const std::size_t before = columns_["time_s"].size();
  reading.now["time_s"] = unix_time_s();
  reading.now["interval_s"] = seconds_between(time_, time);
  for (const auto& [name, total] : reading.totals)
    if (const auto last = totals_.find(name); last != totals_.end()) reading.now[name] = total - last->second;
  for (const auto& [name, value] : reading.now)
    columns_[name].resize(before, kUnknown);
  for (auto& [name, values] : columns_) {
    const auto found = reading.now.find(name);
    values.push_back(found == reading.now.end() ? kUnknown : found->second);
  }
  time_ = time;
  totals_ = std::move(reading.totals);
}

void ResourceSampler::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kInterval, [this] { return is_ending_; }))
    sample();
}

}  // namespace multicard
