#pragma once
/// \file A choice of kernels.

namespace multicard {

/// Whose CPU kernels compute: the fastest known ones, or ATen's alone (to compare with).
enum class Kernels { automatic, aten };

}  // namespace multicard
