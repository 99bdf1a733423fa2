#pragma once
/// \file Inputs that `prepare --skip-bad` leaves out.

#include <cstdint>
#include <string>
#include <vector>

#include "comm/Communicator.hpp"

namespace multicard {

struct BadInput {
  std::int64_t index;  ///< in input order
  std::string why;     ///< names it
};

/// Collective. The bad inputs of all ranks, in rank order, which is input order where ranks take consecutive blocks.
std::vector<BadInput> merge_bad(const std::vector<BadInput>& mine, const Communicator& communicator);

/// Warns of them, if there are any, with the reasons of the first.
void report_bad(const std::vector<BadInput>& bad, const std::string& singular, const std::string& plural);

}  // namespace multicard
