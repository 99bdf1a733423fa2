#pragma once
/// \file The tables of a profile from a trace.

#include "profile/Profile.hpp"
#include "profile/trace/Trace.hpp"

namespace multicard {

/// \param rank used where the trace does not say its own
Profile profile_of(const Trace& trace, std::int64_t rank);

}  // namespace multicard
