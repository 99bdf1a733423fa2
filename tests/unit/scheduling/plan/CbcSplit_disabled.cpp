#include "unit/scheduling/plan/CbcSplit.hpp"

namespace multicard::test {

bool has_cbc() {
  return false;
}

std::optional<Split> cbc_split(const AllocationProblem&) {
  return std::nullopt;
}

}  // namespace multicard::test
