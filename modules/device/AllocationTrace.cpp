#include "device/AllocationTrace.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace multicard {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// Finds the counterparts of allocations.
class Matching {
 public:
  Matching(const MeasuredWork& small, const MeasuredWork& large)
      : small_(small.trace),
        large_(large.trace),
        ratio_(static_cast<double>(large.size) / static_cast<double>(small.size)) {}

  /// For each allocation of the larger work the one of the smaller work, or kNone.
  std::vector<std::size_t> counterparts() const {
    const std::size_t num_large = large_.num_allocations();
    std::vector<std::size_t> found(num_large, kNone);
    std::size_t first = 0, small_end = small_.num_allocations(), large_end = num_large;
    // Equally many: the same code ran, so that they belong together one by one, whatever their sizes.
    if (small_end == large_end) {
      for (std::size_t i = 0; i < num_large; ++i)
        found[i] = i;
      return found;
    }
    // Equal beginnings and ends first: the table of the longest common subsequence is quadratic in the rest.
    for (; first < std::min(small_end, large_end) && alike(first, first); ++first)
      found[first] = first;
    for (; std::min(small_end, large_end) > first && alike(small_end - 1, large_end - 1); --small_end, --large_end)
      found[large_end - 1] = small_end - 1;
    match_middle(first, small_end, large_end, found);
    return found;
  }

 private:
  /// Longest common subsequence of small [first, small_end) and large [first, large_end).
  void match_middle(std::size_t first, std::size_t small_end, std::size_t large_end,
                    std::vector<std::size_t>& found) const {
    const std::size_t rows = small_end - first, columns = large_end - first, width = columns + 1;
    std::vector<std::uint32_t> longest((rows + 1) * width, 0);  // of the ends beginning at row, column
    for (std::size_t i = rows; i-- > 0;)
      for (std::size_t j = columns; j-- > 0;) {
        const std::uint32_t skipping = std::max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
        const bool pairs = alike(first + i, first + j);
        longest[i * width + j] = pairs ? std::max(skipping, longest[(i + 1) * width + j + 1] + 1) : skipping;
      }
    for (std::size_t i = 0, j = 0; i < rows && j < columns;) {
      const std::uint32_t here = longest[i * width + j];
      if (here == longest[(i + 1) * width + j])
        ++i;
      else if (here == longest[i * width + j + 1])
        ++j;
      else
        found[first + j++] = first + i++;
    }
  }

  bool alike(std::size_t in_small, std::size_t in_large) const {
    const auto few = static_cast<double>(small_.bytes(in_small)), many = static_cast<double>(large_.bytes(in_large));
    return few <= many && many <= ratio_ * few;
  }

  const AllocationTrace &small_, &large_;
  double ratio_;
};

}  // namespace

void AllocationTrace::allocate(const void* address, std::int64_t bytes, WorkStage stage) {
  // Addresses are given out again after a release; the map holds what lies there now.
  held_[address] = bytes_.size();
  place_.push_back(events_.size());
  events_.push_back({bytes_.size(), false});
  bytes_.push_back(bytes);
  stages_.push_back(stage);
}

void AllocationTrace::release(const void* address) {
  const auto found = held_.find(address);
  if (found == held_.end()) return;
  events_.push_back({found->second, true});
  held_.erase(found);
}

bool AllocationTrace::is_transient(std::size_t allocation) const {
  const std::size_t next = place_[allocation] + 1;
  return next < events_.size() && events_[next].is_release && events_[next].allocation == allocation;
}

StageBytes AllocationTrace::at_peak_with(const std::vector<std::int64_t>& bytes) const {
  StageBytes held, peak;
  // Only allocations can raise the total, so the peak is right after one of them.
  for (const Event& event : events_) {
    held[stages_[event.allocation]] += event.is_release ? -bytes[event.allocation] : bytes[event.allocation];
    if (held.total() > peak.total()) peak = held;
  }
  return peak;
}

StageBytes AllocationTrace::before_backward_with(const std::vector<std::int64_t>& bytes) const {
  StageBytes held;
  for (const Event& event : events_) {
    if (!event.is_release && stages_[event.allocation] == WorkStage::backward) break;
    held[stages_[event.allocation]] += event.is_release ? -bytes[event.allocation] : bytes[event.allocation];
  }
  return held;
}

MeasuredPair::MeasuredPair(const MeasuredWork& small, MeasuredWork large, std::int64_t chunk_bytes)
    : large_(std::move(large)), chunk_bytes_(chunk_bytes) {
  const auto apart = static_cast<double>(large_.size - small.size);
  const std::vector<std::size_t> counterparts = Matching(small, large_).counterparts();
  for (std::size_t i = 0; i < counterparts.size(); ++i) {
    const auto measured = static_cast<double>(large_.trace.bytes(i));
    // Bytes = constant + slope * size through the two measured points; without a counterpart through the origin.
    double slope = large_.trace.is_transient(i) ? 0 : measured / static_cast<double>(large_.size);
    if (counterparts[i] != kNone) slope = (measured - static_cast<double>(small.trace.bytes(counterparts[i]))) / apart;
    slopes_.push_back(slope);
  }
}

bool MeasuredPair::is_workspace(std::size_t allocation) const {
  return slopes_[allocation] == 0 && large_.trace.is_transient(allocation);
}

std::int64_t MeasuredPair::workspace() const {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < slopes_.size(); ++i)
    if (is_workspace(i)) most = std::max(most, large_.trace.bytes(i));
  return most;
}

std::int64_t MeasuredPair::peak_without_workspace(std::int64_t size) const {
  std::vector<std::int64_t> bytes = extrapolated({size});
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (is_workspace(i)) bytes[i] = 0;
  return large_.trace.peak_with(bytes);
}

/// Of what one allocation grows with.
std::int64_t MeasuredPair::size_of(std::size_t allocation, const WorkSize& size) const {
  // A loss in chunks holds the logits of one chunk at a time; the small vectors of all targets are held throughout.
  if (large_.trace.stage(allocation) != WorkStage::logits || size.targets == 0) return size.size;
  const bool is_of_chunk = slopes_[allocation] >= static_cast<double>(chunk_bytes_);
  return is_of_chunk ? std::min(size.targets, size.chunk) : size.targets;
}

std::vector<std::int64_t> MeasuredPair::extrapolated(const WorkSize& size) const {
  std::vector<std::int64_t> bytes;
  bytes.reserve(slopes_.size());
  for (std::size_t i = 0; i < slopes_.size(); ++i) {
    const auto beyond = static_cast<double>(size_of(i, size) - large_.size);
    bytes.push_back(
        std::max<std::int64_t>(0, std::llround(static_cast<double>(large_.trace.bytes(i)) + slopes_[i] * beyond)));
  }
  return bytes;
}

}  // namespace multicard
