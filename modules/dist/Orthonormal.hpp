#pragma once
/// \file Orthonormal bases of the columns of narrow matrices; for modules/dist and its tests only.

#include <vector>

#include <ATen/core/Tensor.h>

namespace multicard {

/// Makes the columns of each matrix orthonormal, in place; they span what they spanned before. All matrices have the
/// same number of columns and are views of `flat`, in any order. Computed in float64 on the device of `flat`, without
/// waiting for it: Gram-Schmidt on the Gram matrices of all matrices at once, twice.
///
/// A column that depends on those before it (what is left of it is below 1e-6 of its norm) becomes that of the matrix
/// in `spares`, made orthogonal to the others; without spares it becomes zero. Values that are not finite stay so.
/// \param spares none, or one for each matrix, of its shape
void orthonormalise(const at::Tensor& flat, const std::vector<at::Tensor>& matrices,
                    const std::vector<at::Tensor>& spares = {});

}  // namespace multicard
