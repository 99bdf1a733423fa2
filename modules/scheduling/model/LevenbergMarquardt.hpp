#pragma once
/// \file Robust non-linear least squares.

#include <functional>
#include <span>
#include <vector>

namespace multicard {

/// Residuals and derivatives at a point: `jacobian` is by rows, a row a residual.
struct Residuals {
  std::vector<double> values;
  std::vector<double> jacobian;
  std::size_t num_robust = 0;  ///< the first ones get the robust loss; the others, penalties, their square
};

struct MinimizeOptions {
  int max_iterations = 60;
  double tolerance = 1e-7;    ///< relative decrease of the loss at which the search ends
  double robust_scale = 0.1;  ///< residuals beyond it count linearly (pseudo-Huber)
  double limit = 30;          ///< of |x|
};

struct Minimum {
  std::vector<double> x;
  double loss = 0;
  int iterations = 0;
};

/// The local minimum of the loss near `start`, by Levenberg and Marquardt's method with weights for the robust loss.
Minimum minimize(const std::function<void(std::span<const double> x, Residuals& out)>& evaluate,
                 std::vector<double> start, const MinimizeOptions& options = {});

}  // namespace multicard
