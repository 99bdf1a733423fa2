#include "dist/Orthonormal.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

namespace multicard {

namespace {

/// Of the square of a column's norm. Sums in float64 are exact to some 1e-15 of it.
constexpr double kDependent = 1e-12;

/// The views of `wide` that the matrices are of `flat`.
std::vector<at::Tensor> views_of(const at::Tensor& wide, const at::Tensor& flat,
                                 const std::vector<at::Tensor>& matrices) {
  std::vector<at::Tensor> views;
  views.reserve(matrices.size());
  for (const at::Tensor& matrix : matrices)
    views.push_back(wide.as_strided(matrix.sizes(), matrix.strides(),
                                    wide.storage_offset() + matrix.storage_offset() - flat.storage_offset()));
  return views;
}

struct Normalisation {
  at::Tensor factors;    ///< [matrix, r, r]: a matrix times its factor has orthonormal columns
  at::Tensor dependent;  ///< [matrix, r]
};

/// Gram-Schmidt in the inner product that the Gram matrices [matrix, r, r] define: on coefficients instead of columns,
/// so that matrices of any number of rows are done at once.
Normalisation normalise(const at::Tensor& grams) {
  const std::int64_t count = grams.size(0), r = grams.size(1);
  const at::Tensor unit = at::eye(r, grams.options());
  Normalisation result{at::zeros({count, r, r}, grams.options()),
                       at::empty({count, r}, grams.options().dtype(at::kBool))};
  for (std::int64_t j = 0; j < r; ++j) {
    at::Tensor column = unit.narrow(1, j, 1).expand({count, r, 1});
    if (j > 0) {
      const at::Tensor before = result.factors.narrow(2, 0, j);
      column = column - at::bmm(before, at::bmm(before.transpose(1, 2), grams.narrow(2, j, 1)));
    }
    const at::Tensor left = at::bmm(column.transpose(1, 2), at::bmm(grams, column));
    // NaN is not dependent: what is not finite must be seen in the gradients.
    const at::Tensor dependent = left <= grams.narrow(1, j, 1).narrow(2, j, 1) * kDependent;
    result.dependent.narrow(1, j, 1).copy_(dependent.squeeze(2));
    result.factors.narrow(2, j, 1).copy_(column * at::where(dependent, 0.0, left.rsqrt()));
  }
  return result;
}

Normalisation normalisation_of(const std::vector<at::Tensor>& matrices) {
  const std::int64_t r = matrices.front().size(1);
  const at::Tensor grams = at::empty({static_cast<std::int64_t>(matrices.size()), r, r}, matrices.front().options());
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    at::Tensor gram = grams.select(0, static_cast<std::int64_t>(i));
    at::mm_out(gram, matrices[i].t(), matrices[i]);
  }
  return normalise(grams);
}

void multiply(std::vector<at::Tensor>& products, const std::vector<at::Tensor>& matrices, const at::Tensor& factors) {
  for (std::size_t i = 0; i < matrices.size(); ++i)
    at::mm_out(products[i], matrices[i], factors.select(0, static_cast<std::int64_t>(i)));
}

}  // namespace

// The factor of a pass inherits the square of the condition of its matrix, which costs orthogonality and never the
// span; the second pass starts from columns that are orthonormal to some digits and makes them so to all.
void orthonormalise(const at::Tensor& flat, const std::vector<at::Tensor>& matrices,
                    const std::vector<at::Tensor>& spares) {
  if (matrices.empty()) return;
  const at::Tensor wide = flat.to(at::kDouble), other = at::empty_like(wide);
  std::vector<at::Tensor> first = views_of(wide, flat, matrices), second = views_of(other, flat, matrices);
  const Normalisation rough = normalisation_of(first);
  multiply(second, first, rough.factors);
  for (std::size_t i = 0; i < spares.size(); ++i)
    second[i].copy_(at::where(rough.dependent.narrow(0, static_cast<std::int64_t>(i), 1), spares[i], second[i]));
  multiply(first, second, normalisation_of(second).factors);
  if (!wide.is_same(flat)) flat.copy_(wide);
}

}  // namespace multicard
