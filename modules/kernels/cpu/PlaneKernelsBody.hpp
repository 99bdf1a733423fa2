#pragma once
// The loops of PlaneKernels; see Vectors.hpp for who may include this.

#include "kernels/cpu/PlaneKernels.hpp"
#include "kernels/cpu/Vectors.hpp"

namespace multicard {
namespace {

// Calls body<Lanes>(index) over all values, a register of them at a time and then one by one.
template <typename T, typename Body>
MULTICARD_INLINE void for_values(std::int64_t first, std::int64_t end, Body body) {
  constexpr int kWide = kWidth<T>;
  std::int64_t i = first;
  for (; i + kWide <= end; i += kWide)
    body.template operator()<kWide>(i);
  for (; i < end; ++i)
    body.template operator()<1>(i);
}

// Sums in T stay short enough for float32.
constexpr std::int64_t kMostValues = 8192;

// The sum of a vector accumulator and a scalar one.
template <typename T>
class Sum {
 public:
  template <int Lanes, typename V>
  MULTICARD_INLINE void add(const V& value) {
    if constexpr (Lanes == 1)
      single_ += value;
    else
      many_ += value;
  }
  MULTICARD_INLINE double total() const {
    double sum = single_;
    for (int i = 0; i < kLanes; ++i)
      sum += many_[i];
    return sum;
  }

 private:
  static constexpr int kLanes = kWidth<T>;
  typename Vector<T, kLanes>::Type many_{};
  T single_{};
};

template <typename S>
void plane_moments(const S* x, std::int64_t size, double* mean, double* deviation_squares) {
  using T = Compute<S>;
  const T origin = load<T>(x);
  double all = 0, squares = 0;
  for (std::int64_t first = 0; first < size; first += kMostValues) {
    Sum<T> sum, square_sum;
    for_values<T>(first, size < first + kMostValues ? size : first + kMostValues,
                  [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
                    using V = typename Vector<T, Lanes>::Type;
                    const V deviation = load<V>(x + i) - origin;
                    sum.template add<Lanes>(deviation);
                    square_sum.template add<Lanes>(V(deviation * deviation));
                  });
    all += sum.total();
    squares += square_sum.total();
  }
  const double mean_deviation = all / static_cast<double>(size);
  const double left = squares - all * mean_deviation;
  *mean = origin + mean_deviation;
  *deviation_squares = left > 0 ? left : 0;
}

template <typename S, Activation Act, bool Adds>
void plane_normalise_as(const S* x, std::int64_t size, const PlaneAffine<Compute<S>>& affine, const S* residual, S* y) {
  using T = Compute<S>;
  const T scale = affine.scale, mean = affine.mean, bias = affine.bias;
  for_values<T>(0, size, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
    using V = typename Vector<T, Lanes>::Type;
    V value = activated<Act>(V((load<V>(x + i) - mean) * scale + bias), T());
    if constexpr (Adds) value += load<V>(residual + i);
    store(y + i, value);
  });
}

template <typename S>
void plane_normalise(const S* x, std::int64_t size, const PlaneAffine<Compute<S>>& affine, const S* residual, S* y) {
  if (affine.activation == Activation::relu6)
    plane_normalise_as<S, Activation::relu6, false>(x, size, affine, nullptr, y);
  else if (residual)
    plane_normalise_as<S, Activation::none, true>(x, size, affine, residual, y);
  else
    plane_normalise_as<S, Activation::none, false>(x, size, affine, nullptr, y);
}

template <typename S, Activation Act>
void plane_gradient_sums_as(const S* dy, const S* x, std::int64_t size, const PlaneAffine<Compute<S>>& affine,
                            double* sum, double* deviation_sum) {
  using T = Compute<S>;
  const T scale = affine.scale, mean = affine.mean, bias = affine.bias;
  for (std::int64_t first = 0; first < size; first += kMostValues) {
    Sum<T> sums, products;
    for_values<T>(first, size < first + kMostValues ? size : first + kMostValues,
                  [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
                    using V = typename Vector<T, Lanes>::Type;
                    const V deviation = load<V>(x + i) - mean;
                    const V g = open_gradient<Act>(load<V>(dy + i), V(deviation * scale + bias), T());
                    sums.template add<Lanes>(g);
                    products.template add<Lanes>(V(g * deviation));
                  });
    *sum += sums.total();
    *deviation_sum += products.total();
  }
}

template <typename S>
void plane_gradient_sums(const S* dy, const S* x, std::int64_t size, const PlaneAffine<Compute<S>>& affine, double* sum,
                         double* deviation_sum) {
  if (affine.activation == Activation::relu6)
    plane_gradient_sums_as<S, Activation::relu6>(dy, x, size, affine, sum, deviation_sum);
  else
    plane_gradient_sums_as<S, Activation::none>(dy, x, size, affine, sum, deviation_sum);
}

template <typename S, Activation Act>
void plane_input_gradient_as(const S* dy, const S* x, std::int64_t size, const PlaneAffine<Compute<S>>& affine,
                             const PlaneGradient<Compute<S>>& gradient, S* dx) {
  using T = Compute<S>;
  const T scale = affine.scale, mean = affine.mean, bias = affine.bias, slope = gradient.slope,
          offset = gradient.offset;
  for_values<T>(0, size, [&]<int Lanes>(std::int64_t i) MULTICARD_INLINE_BODY {
    using V = typename Vector<T, Lanes>::Type;
    const V deviation = load<V>(x + i) - mean;
    const V g = open_gradient<Act>(load<V>(dy + i), V(deviation * scale + bias), T());
    store(dx + i, V(g * gradient.scale + (deviation * slope + offset)));
  });
}

template <typename S>
void plane_input_gradient(const S* dy, const S* x, std::int64_t size, const PlaneAffine<Compute<S>>& affine,
                          const PlaneGradient<Compute<S>>& gradient, S* dx) {
  if (affine.activation == Activation::relu6)
    plane_input_gradient_as<S, Activation::relu6>(dy, x, size, affine, gradient, dx);
  else
    plane_input_gradient_as<S, Activation::none>(dy, x, size, affine, gradient, dx);
}

template <typename S>
constexpr PlaneKernels<S> kPlaneKernels{plane_moments<S>, plane_normalise<S>, plane_gradient_sums<S>,
                                        plane_input_gradient<S>};

}  // namespace
}  // namespace multicard
