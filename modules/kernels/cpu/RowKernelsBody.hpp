#pragma once
// The table of RowKernels; see Vectors.hpp for who may include this.

#include "kernels/cpu/FilterRowsBody.hpp"
#include "kernels/cpu/NormRowsBody.hpp"

namespace multicard {
namespace {

template <typename T, typename In, typename Out>
void copy(const In* in, std::int64_t size, Out* out) {
  for_channels<T>(size, [&]<int Lanes>(std::int64_t i)
                            MULTICARD_INLINE_BODY { store(out + i, load<typename Vector<T, Lanes>::Type>(in + i)); });
}

template <typename S>
constexpr RowKernels<S> kRowKernels{moments<S>,
                                    normalise<S>,
                                    normalise_without_residual<S, Compute<S>>,
                                    gradient_sums<S>,
                                    gradient_sums_with_output<S, Compute<S>>,
                                    input_gradient<S>,
                                    input_gradient_wide<S>,
                                    filter_row<S>,
                                    filter_gradient_row<Compute<S>>,
                                    filter_input_row<S>,
                                    copy<Compute<S>, S, Compute<S>>,
                                    copy<Compute<S>, Compute<S>, S>};

}  // namespace
}  // namespace multicard
