#pragma once
/// \file Activations that follow a normalisation.

namespace multicard {

enum class Activation { none, relu6 };

}  // namespace multicard
