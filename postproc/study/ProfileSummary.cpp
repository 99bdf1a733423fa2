#include "postproc/study/ProfileSummary.hpp"

#include <utility>

namespace multicard::post {

std::vector<CellProfile> cell_profiles(const Study& study) {
  std::vector<CellProfile> profiles;
  for (const Cell& cell : study.cells) {
    std::vector<const ProfileSum*> of_runs;
    for (const std::size_t run : cell.measured)
      of_runs.push_back(&study.runs[run].profile);
    ProfileSum sum = sum_of(of_runs);
    if (sum.rank_steps > 0) profiles.push_back({std::move(sum), &cell});
  }
  return profiles;
}

}  // namespace multicard::post
