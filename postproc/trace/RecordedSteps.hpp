#pragma once
/// \file How many steps which ranks have recorded, as text.

#include <cstdint>
#include <string>
#include <vector>

namespace multicard::post {

struct RecordedSteps {
  std::int64_t rank = 0, steps = 0;  ///< 0 steps: not known
};

/// "0-3, 7, 9": of ascending numbers; of very many pieces the first, and how many ranks follow.
std::string rank_list(const std::vector<std::int64_t>& ranks);

/// "10 steps of each of ranks 0-2, 8 steps of rank 3": what most ranks have recorded comes first. Empty where no number
/// is known.
std::string recorded_text(const std::vector<RecordedSteps>& recorded);

}  // namespace multicard::post
