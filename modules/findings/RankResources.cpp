#include "findings/RankResources.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace multicard {

namespace {

/// The bits of nvmlClocksEventReasons that slow a busy GPU down: power cap, hardware slowdown, heat (twice), power
/// brake. The others are idleness and settings.
constexpr std::uint64_t kThrottled = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

/// The samples of one rank.
class Samples {
 public:
  Samples(const RunData& run, std::size_t rank) : columns_(run.resources), rank_(rank) {}

  /// Over the samples that have a value: their sum, and the seconds that they stand for.
  struct Sum {
    double total = 0, seconds = 0;
  };
  Sum sum(const char* column) const {
    return add(column, [](double value, double /*seconds*/) { return value; });
  }
  /// Of what is used in an interval, a second.
  double rate(const char* column) const {
    const Sum sum = this->sum(column);
    return sum.seconds > 0 ? sum.total / sum.seconds : kNone;
  }
  /// Of what is at a time: it stands for the interval before.
  template <class Of>
  double mean(const char* column, Of&& of) const {
    const Sum sum = add(column, [&](double value, double seconds) { return of(value) * seconds; });
    return sum.seconds > 0 ? sum.total / sum.seconds : kNone;
  }
  double mean(const char* column) const {
    return mean(column, [](double value) { return value; });
  }
  double largest(const char* column) const {
    double most = kNone;
    each(column, [&](double value, double /*seconds*/) { most = most >= value ? most : value; });
    return most;
  }

 private:
  template <class Visit>
  void each(const char* column, Visit&& visit) const {
    const auto values = columns_.find(column), seconds = columns_.find("interval_s");
    if (values == columns_.end() || seconds == columns_.end()) return;
    const std::span<const double> of_values = values->second.row(rank_), of_seconds = seconds->second.row(rank_);
    for (std::size_t i = 0; i < std::min(of_values.size(), of_seconds.size()); ++i)
      if (std::isfinite(of_values[i]) && std::isfinite(of_seconds[i])) visit(of_values[i], of_seconds[i]);
  }
  template <class Of>
  Sum add(const char* column, Of&& of) const {
    Sum sum;
    each(column, [&](double value, double seconds) {
      sum.total += of(value, seconds);
      sum.seconds += seconds;
    });
    return sum;
  }

  const std::map<std::string, RankMatrix<double>>& columns_;
  std::size_t rank_;
};

double is_throttled(double reasons) {
  return (static_cast<std::uint64_t>(reasons) & kThrottled) != 0 ? 1 : 0;
}

}  // namespace

std::vector<RankResources> reduce_resources(const RunData& run) {
  std::vector<RankResources> ranks;
  if (!run.resources.contains("interval_s")) return ranks;
  for (int rank = 0; rank < run.ranks; ++rank) {
    const Samples samples(run, static_cast<std::size_t>(rank));
    RankResources of;
    of.cpu_cores = samples.rate("cpu_s");
    of.involuntary_switches = samples.rate("involuntary_switches");
    of.core_wait = samples.rate("core_wait_s");
    of.major_faults = samples.rate("major_faults");
    of.resident_bytes = samples.largest("resident_bytes");
    of.storage_read_bytes = samples.rate("storage_read_bytes");
    of.storage_written_bytes = samples.rate("storage_written_bytes");
    of.gpu_busy = samples.mean("gpu_busy");
    of.gpu_power_w = samples.mean("gpu_power_w");
    const Samples::Sum energy = samples.sum("gpu_energy_j");
    of.gpu_energy_j = energy.seconds > 0 ? energy.total : kNone;
    of.gpu_sm_clock_mhz = samples.mean("gpu_sm_clock_mhz");
    of.gpu_temperature_c = samples.largest("gpu_temperature_c");
    of.gpu_throttled = samples.mean("gpu_throttle_reasons", is_throttled);
    ranks.push_back(of);
  }
  return ranks;
}

}  // namespace multicard
