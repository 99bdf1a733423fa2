#include "profile/Profile.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "base/Quantiles.hpp"

namespace multicard {

namespace {

template <class Row>
std::int64_t total_of(const std::vector<Row>& rows) {
  std::int64_t sum = 0;
  for (const Row& row : rows)
    sum += row.time.total;
  return sum;
}

template <class Row>
void sort_by_total(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.time.total > b.time.total; });
}

ShareRow share_row(std::string name, std::string of, const Distribution& part, std::int64_t whole, bool is_recorded) {
  return {std::move(name), std::move(of), part.count, part.total, whole, is_recorded};
}

/// A sum that does not fit stays at the largest or least number: delays of damaged traces may be that long.
std::int64_t saturated_sum(const std::vector<std::int64_t>& values) {
  std::int64_t sum = 0;
  for (const std::int64_t value : values) {
    if (__builtin_add_overflow(sum, value, &sum))
      return value < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
  }
  return sum;
}

Distribution time_of_call(const Profile& profile, std::string_view name) {
  for (const NamedTimes& row : profile.calls)
    if (row.name == name) return row.time;
  return {};
}

}  // namespace

Distribution distribution_of(std::vector<std::int64_t> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  Distribution found;
  found.count = static_cast<std::int64_t>(values.size());
  found.total = saturated_sum(values);
  found.min = values.front();
  found.max = values.back();
  found.mean = static_cast<double>(found.total) / static_cast<double>(found.count);
  found.median = sorted_percentile(values, 0.5);
  found.p95 = sorted_percentile(values, 0.95);
  return found;
}

std::optional<double> CopyRow::bandwidth() const {
  if (without_bytes > 0 || time.total == 0) return std::nullopt;
  return static_cast<double>(bytes) / static_cast<double>(time.total);
}

std::optional<double> ShareRow::share() const {
  if (whole_ns <= 0) return std::nullopt;
  return static_cast<double>(ns) / static_cast<double>(whole_ns);
}

void add_shares(Profile& profile) {
  profile.api_ns = total_of(profile.calls);
  profile.kernel_ns = total_of(profile.kernels);
  profile.copy_ns = total_of(profile.copies);
  Distribution to_device, collectives;
  for (const CopyRow& row : profile.copies)
    if (row.direction == "HtoD") to_device = row.time;
  for (const NamedTimes& row : profile.collectives) {
    collectives.count += row.time.count;
    collectives.total += row.time.total;
  }
  const bool has_gpu_work = profile.has_gpu_work(), has_calls = profile.has_calls();
  profile.shares = {share_row("host_to_device_copy", "copies", to_device, profile.copy_ns, has_gpu_work),
                    share_row("nccl_kernels", "kernels", collectives, profile.kernel_ns, has_gpu_work)};
  for (const char* name : {"cudaLaunchKernel", "cudaStreamSynchronize", "cudaEventSynchronize", "cudaMemcpyAsync"})
    profile.shares.push_back(share_row(name, "api", time_of_call(profile, name), profile.api_ns, has_calls));
  // Kineto leaves this call out of every trace; windows of this program have it all the same.
  const Distribution destroys = time_of_call(profile, "cudaEventDestroy");
  profile.shares.push_back(share_row("cudaEventDestroy", "api", destroys, profile.api_ns,
                                     has_calls && (profile.has_event_destroys || destroys.count > 0)));
}

void sort_rows(Profile& profile) {
  sort_by_total(profile.calls);
  sort_by_total(profile.kernels);
  sort_by_total(profile.copies);
  sort_by_total(profile.collectives);
  std::ranges::stable_sort(profile.phases, {}, &PhaseRow::order);
  std::ranges::stable_sort(profile.blocks, {}, &BlockRow::order);
  std::ranges::stable_sort(profile.threads, std::ranges::greater(), &ThreadRow::running_ns);
  std::ranges::stable_sort(profile.mpi, std::ranges::greater(), &MpiRow::ns);
  std::stable_sort(profile.operators.begin(), profile.operators.end(),
                   [](const OperatorRow& a, const OperatorRow& b) { return a.cost.self_ns > b.cost.self_ns; });
}

}  // namespace multicard
