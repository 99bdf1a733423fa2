#pragma once
/// \file The constants of kernels/AdamwFormula.hpp.

#include <cstdint>

namespace multicard {

inline constexpr std::int64_t kMomentBlock = 256;   ///< moments that share a scale, their largest magnitude
inline constexpr float kLeastMomentScale = 1e-38F;  ///< that is divided by

/// What all values of a step have in common.
struct AdamwFactors {
  float beta1, new1;  ///< new1 = 1 - beta1
  float beta2, new2;
  float eps;
  double decay;          ///< 1 - learning rate * weight decay
  float rate = 0;        ///< learning rate / (1 - beta1^step)
  float correction = 0;  ///< sqrt(1 - beta2^step)
};

}  // namespace multicard
