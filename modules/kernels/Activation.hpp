#pragma once
/// \file Activations that follow a normalisation.

namespace multicard {

enum class Activation {
  none,
  relu,
  relu6,  ///< min(max(x, 0), 6)
  silu    ///< x * sigmoid(x)
};

}  // namespace multicard
