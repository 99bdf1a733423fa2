#include "scheduling/plan/GpuLanes.hpp"

#include <algorithm>

namespace multicard {

namespace {

class Lanes {
 public:
  explicit Lanes(int num_gpus) : free_from_(static_cast<std::size_t>(num_gpus), 0.0) {}

  // A schedule counts GPUs and does not name them. In one piece where a gap is large enough, so that a picture shows
  // few bars; else in several, which always suffice as the count fits.
  void place(const TaskSchedule& schedule, std::size_t entry, std::vector<GpuBlock>& blocks) {
    int left = schedule[entry].gpus;
    const std::vector<GpuBlock> gaps = gaps_at(schedule[entry].start_s);
    const auto take = [&](const GpuBlock& gap) {
      const int count = std::min(left, gap.count);
      std::fill_n(free_from_.begin() + gap.first, count, schedule[entry].end_s);
      blocks.push_back({entry, gap.first, count});
      left -= count;
    };
    const auto large_enough = [&](const GpuBlock& gap) { return gap.count >= left; };
    if (const auto gap = std::find_if(gaps.begin(), gaps.end(), large_enough); gap != gaps.end()) return take(*gap);
    for (std::size_t i = 0; i < gaps.size() && left > 0; ++i)
      take(gaps[i]);
  }

 private:
  std::vector<GpuBlock> gaps_at(double seconds) const {
    std::vector<GpuBlock> gaps;
    for (std::size_t gpu = 0; gpu < free_from_.size(); ++gpu) {
      // Exact, as an end and the start that follows it have the same bits (schedule_of()).
      if (free_from_[gpu] > seconds) continue;
      const bool continues = !gaps.empty() && gaps.back().first + gaps.back().count == static_cast<int>(gpu);
      if (!continues) gaps.push_back({0, static_cast<int>(gpu), 0});
      ++gaps.back().count;
    }
    return gaps;
  }

  std::vector<double> free_from_;  ///< seconds, by GPU
};

}  // namespace

std::vector<GpuBlock> gpu_blocks(const TaskSchedule& schedule, int num_gpus) {
  std::vector<GpuBlock> blocks;
  Lanes lanes(num_gpus);
  for (std::size_t entry = 0; entry < schedule.size(); ++entry)
    lanes.place(schedule, entry, blocks);
  return blocks;
}

}  // namespace multicard
