#pragma once
/// \file The codes of the data type NF4 (Dettmers et al. 2023, arXiv 2305.14314), as bitsandbytes has them.

#include <cstdint>

namespace multicard {

inline constexpr std::int64_t kNf4Block = 64;         ///< elements that share a scale
inline constexpr std::int64_t kNf4NestedBlock = 256;  ///< scales that share a scale of their own

/// What the codes 0 to 15 stand for, times the scale of their block.
inline constexpr float kNf4Values[16] = {-1.0F,
                                         -0.6961928009986877F,
                                         -0.5250730514526367F,
                                         -0.39491748809814453F,
                                         -0.28444138169288635F,
                                         -0.18477343022823334F,
                                         -0.09105003625154495F,
                                         0.0F,
                                         0.07958029955625534F,
                                         0.16093020141124725F,
                                         0.24611230194568634F,
                                         0.33791524171829224F,
                                         0.44070982933044434F,
                                         0.5626170039176941F,
                                         0.7229568362236023F,
                                         1.0F};

/// A scaled value above kNf4Bounds[i] has a code above i: the middles between the values, rounded to
/// float (to even: bitsandbytes' decimals are ties).
inline constexpr float kNf4Bounds[15] = {-0.848096371F, -0.610632896F,  -0.45999527F,  -0.33967942F, -0.234607399F,
                                         -0.137911737F, -0.0455250181F, 0.0397901498F, 0.120255247F, 0.203521252F,
                                         0.292013764F,  0.389312536F,   0.501663446F,  0.64278692F,  0.861478448F};

}  // namespace multicard
