#include "scheduling/model/LevenbergMarquardt.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace multicard {
namespace {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// The loss is 2 s² (√(1 + (r/s)²) - 1), which is r² near 0 and grows linearly far from it, so that outliers pull no
// harder the further they are off. Its derivative is 2 r times this weight: each iteration is one of weighted least
// squares.
double weight(double residual, double scale) {
  return 1 / std::sqrt(1 + (residual / scale) * (residual / scale));
}

double loss_of(const Residuals& residuals, double scale) {
  double loss = 0;
  for (std::size_t i = 0; i < residuals.values.size(); ++i) {
    const double r = residuals.values[i];
    loss += i < residuals.num_robust ? 2 * scale * scale * (1 / weight(r, scale) - 1) : r * r;
  }
  return loss;
}

/// The Gauss-Newton system of the weighted residuals.
struct NormalEquations {
  NormalEquations(const Residuals& residuals, Eigen::Index size, double scale)
      : matrix(Eigen::MatrixXd::Zero(size, size)), right(Eigen::VectorXd::Zero(size)) {
    const auto rows = static_cast<Eigen::Index>(residuals.values.size());
    const Eigen::Map<const RowMatrix> jacobian(residuals.jacobian.data(), rows, size);
    const Eigen::Map<const Eigen::VectorXd> values(residuals.values.data(), rows);
    Eigen::VectorXd weights = Eigen::VectorXd::Ones(rows);
    for (Eigen::Index i = 0; i < static_cast<Eigen::Index>(residuals.num_robust); ++i)
      weights[i] = weight(values[i], scale);
    matrix.noalias() = jacobian.transpose() * weights.asDiagonal() * jacobian;
    right.noalias() = -jacobian.transpose() * weights.cwiseProduct(values);
  }

  Eigen::VectorXd step(double damping) const {
    // Damped in proportion to the diagonal (Marquardt), so that the units of parameters do not matter.
    Eigen::MatrixXd damped = matrix;
    // The floor moves parameters on that the residuals hardly depend on, and keeps the matrix regular.
    damped.diagonal() += damping * matrix.diagonal().cwiseMax(1e-6 * std::max(matrix.diagonal().maxCoeff(), 1e-12));
    return damped.ldlt().solve(right);
  }

  Eigen::MatrixXd matrix;
  Eigen::VectorXd right;
};

}  // namespace

Minimum minimize(const std::function<void(std::span<const double> x, Residuals& out)>& evaluate,
                 std::vector<double> start, const MinimizeOptions& options) {
  const auto size = static_cast<Eigen::Index>(start.size());
  Residuals here;
  Residuals there;
  evaluate(start, here);
  Minimum best{.x = std::move(start), .loss = loss_of(here, options.robust_scale)};
  double damping = 1e-2;
  while (best.iterations < options.max_iterations && size > 0) {
    ++best.iterations;
    const NormalEquations equations(here, size, options.robust_scale);
    bool better = false;
    double decrease = 0;
    for (; !better && damping < 1e8; damping *= better ? 1 : 4) {
      const Eigen::VectorXd step = equations.step(damping);
      std::vector<double> x = best.x;
      for (Eigen::Index i = 0; i < size; ++i)
        // At most 2 at once: x are logarithms (ModelFit), so a value changes by a factor of up to 7.4, within which the
        // linear model of the residuals may still mean something.
        x[static_cast<std::size_t>(i)] =
            std::clamp(x[static_cast<std::size_t>(i)] + std::clamp(step[i], -2.0, 2.0), -options.limit, options.limit);
      evaluate(x, there);
      const double loss = loss_of(there, options.robust_scale);
      if (std::isfinite(loss) && loss < best.loss) {
        better = true;
        decrease = best.loss - loss;
        best.x = std::move(x);
        best.loss = loss;
        std::swap(here, there);
      }
    }
    if (!better || decrease < options.tolerance * (best.loss + 1e-12)) break;
    // Falls faster than it rises: the last iterations are to be Gauss-Newton's, which converge quadratically.
    damping = std::max(damping / 5, 1e-9);
  }
  return best;
}

}  // namespace multicard
