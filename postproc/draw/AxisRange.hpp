#pragma once
/// \file What an axis shows.

#include <vector>

namespace multicard::post {

/// From its lower to its upper end.
struct AxisRange {
  double low = 0, high = 1, step = 1;  ///< of a logarithmic axis low is positive, and there is no step
  bool is_logarithmic = false;

  /// From 0 at the lower end to 1 at the upper one; what lies outside is at an end.
  double share(double value) const;
  /// The value at such a share.
  double at(double share) const;
  /// Multiples of the step. Of a logarithmic axis numbers of one digit, where those make three: 1, 2, 5, 10.
  std::vector<double> ticks() const;
};

}  // namespace multicard::post
