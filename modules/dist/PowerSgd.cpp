#include "dist/PowerSgd.hpp"

#include <stdexcept>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_sub.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include "dist/Orthonormal.hpp"

namespace multicard {

std::optional<at::Tensor> matrix_of(const at::Tensor& gradient) {
  if (gradient.dim() < 2 || gradient.numel() == 0) return std::nullopt;
  if (gradient.dim() == 2) return gradient;
  const std::int64_t rows = gradient.size(0), columns = gradient.numel() / rows;
  // Gradients are dense: rows that follow each other have no gaps either, in whatever order their elements are.
  if (gradient.stride(0) != columns) return std::nullopt;
  return gradient.as_strided({rows, columns}, {columns, 1}, gradient.storage_offset());
}

bool is_compressed(const at::Tensor& gradient, std::int64_t rank) {
  constexpr std::int64_t kMinRate = 2;
  if (rank == 0 || !matrix_of(gradient)) return false;
  const std::int64_t rows = gradient.size(0), columns = gradient.numel() / rows;
  return (rows + columns) * rank * kMinRate < rows * columns;
}

namespace {

std::vector<std::int64_t> q_sizes(const at::Tensor& gradient, std::int64_t rank) {
  std::vector<std::int64_t> sizes(gradient.sizes().begin() + 1, gradient.sizes().end());
  sizes.push_back(rank);
  return sizes;
}

/// Rows of Q are in the order of the matrix' columns, which is that of memory; this view has them in that of the shape.
at::Tensor in_shape_order(const at::Tensor& q, const at::Tensor& gradient, std::int64_t rank) {
  std::vector<std::int64_t> strides;
  for (std::int64_t d = 1; d < gradient.dim(); ++d)
    strides.push_back(gradient.dim() == 2 ? rank : gradient.stride(d) * rank);
  strides.push_back(1);
  return q.as_strided(q_sizes(gradient, rank), strides, q.storage_offset());
}

/// Cuts a buffer into views, one after the other.
class Cutter {
 public:
  explicit Cutter(at::Tensor flat) : flat_(std::move(flat)) {}
  at::Tensor matrix(std::int64_t rows, std::int64_t columns) { return next(rows * columns).view({rows, columns}); }
  /// With the shape and strides of a dense tensor.
  at::Tensor like(const at::Tensor& tensor) {
    const at::Tensor part = next(tensor.numel());
    return part.as_strided(tensor.sizes(), tensor.strides(), part.storage_offset());
  }

 private:
  at::Tensor next(std::int64_t numel) {
    at::Tensor part = flat_.narrow(0, place_, numel);
    place_ += numel;
    return part;
  }

  at::Tensor flat_;
  std::int64_t place_ = 0;
};

}  // namespace

at::Tensor initial_q(const at::Tensor& gradient, std::int64_t rank, std::size_t number) {
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(number);
  return at::randn(q_sizes(gradient, rank), generator, at::kDouble);
}

struct PowerSgd::Impl {
  /// Lists have an entry for each compressed gradient, or for each that is sent as it is.
  struct Part {
    std::vector<std::size_t> numbers;
    std::vector<at::Tensor> gradients, matrices;     ///< what is compressed, as it is and [n, m]
    std::vector<at::Tensor> errors, error_matrices;  ///< the same of the error
    std::vector<at::Tensor> p, q, initial, q_views;  ///< [n, r], [m, r], [m, r]; of q in the order of the shape
    std::vector<at::Tensor> whole, sent;             ///< what is not compressed, and its places in `first`
    at::Tensor first, all_p, second;                 ///< all P and what is not compressed; all P; all Q
    at::Tensor error, error_before, q_before;
    std::unique_ptr<Work> work;
    bool is_changed = false;  ///< by this step
  };

  Impl(const std::vector<Bucket>& buckets, TensorCollectives& with, const CompressionOptions& chosen)
      : collectives(with), options(chosen), num_ranks(with.size()) {
    for (const Bucket& bucket : buckets)
      parts.push_back(make_part(bucket));
  }

  /// Without matrices where nothing in the bucket is compressed.
  Part make_part(const Bucket& bucket) {
    std::vector<Member> compressed;
    Part part;
    std::int64_t num_p = 0, num_q = 0, num_whole = 0, num_errors = 0;
    for (const Member& member : bucket.members) {
      const at::Tensor& gradient = member.gradient;
      if (!is_compressed(gradient, options.rank)) {
        part.whole.push_back(gradient);
        num_whole += gradient.numel();
        continue;
      }
      compressed.push_back(member);
      num_p += gradient.size(0) * options.rank;
      num_q += gradient.numel() / gradient.size(0) * options.rank;
      num_errors += gradient.numel();
    }
    if (compressed.empty()) return {};
    const at::ScalarType type = bucket.flat.scalar_type();
    if (type != at::kFloat && type != at::kDouble)
      throw std::invalid_argument("PowerSgd requires gradients of float32 or float64");
    part.first = collectives.allocate_flat(num_p + num_whole, type);
    part.second = collectives.allocate_flat(num_q, type);
    part.all_p = part.first.narrow(0, 0, num_p);
    part.error = at::zeros({num_errors}, bucket.flat.options());
    if (options.may_skip) {
      part.error_before = at::empty_like(part.error);
      part.q_before = at::empty_like(part.second);
    }
    cut(part, compressed, num_p);
    return part;
  }

  void cut(Part& part, const std::vector<Member>& compressed, std::int64_t num_p) const {
    const std::int64_t r = options.rank;
    Cutter p(part.first), q(part.second), error(part.error);
    const at::Tensor initial = at::empty_like(part.second, part.error.options());
    Cutter spare(initial);
    for (const auto& [number, gradient] : compressed) {
      const std::int64_t columns = gradient.numel() / gradient.size(0);
      part.numbers.push_back(number);
      part.gradients.push_back(gradient);
      part.matrices.push_back(*matrix_of(gradient));
      part.p.push_back(p.matrix(gradient.size(0), r));
      part.q.push_back(q.matrix(columns, r));
      part.q_views.push_back(in_shape_order(part.q.back(), gradient, r));
      part.initial.push_back(spare.matrix(columns, r));
      in_shape_order(part.initial.back(), gradient, r).copy_(initial_q(gradient, r, number));
      part.errors.push_back(error.like(gradient));
      part.error_matrices.push_back(*matrix_of(part.errors.back()));
    }
    Cutter rest(part.first.narrow(0, num_p, part.first.numel() - num_p));
    for (const at::Tensor& gradient : part.whole)
      part.sent.push_back(rest.like(gradient));
    part.second.copy_(initial);
  }

  void begin_step(std::int64_t step, const at::Tensor& factor) {
    is_active = step >= options.start_step;
    scale = factor;
    for (Part& part : parts)
      part.is_changed = false;
  }

  void start(Part& part) {
    if (options.may_skip) {
      part.error_before.copy_(part.error);
      part.q_before.copy_(part.second);
    }
    // From here to the end of the step `errors` holds M of this rank.
    if (scale.defined()) at::_foreach_mul_(part.errors, scale.to(part.error.scalar_type()));
    if (num_ranks > 1) at::_foreach_mul_(part.errors, 1.0 / num_ranks);
    at::_foreach_add_(part.errors, part.gradients);
    orthonormalise(part.second, part.q, part.initial);
    for (std::size_t i = 0; i < part.p.size(); ++i)
      at::mm_out(part.p[i], part.error_matrices[i], part.q[i]);
    if (!part.whole.empty()) at::_foreach_copy_(part.sent, part.whole);
    part.is_changed = true;
    part.work = collectives.start_all_reduce(part.first, {comm_dtype, std::nullopt});
  }

  void send_q(Part& part) {
    part.work->wait();
    orthonormalise(part.all_p, part.p);
    for (std::size_t i = 0; i < part.q.size(); ++i)
      at::mm_out(part.q[i], part.error_matrices[i].t(), part.p[i]);
    part.work = collectives.start_all_reduce(part.second, {comm_dtype, std::nullopt});
    if (!part.whole.empty()) at::_foreach_copy_(part.whole, part.sent);  // while Q is on its way
  }

  void decompress(Part& part) {
    part.work->wait();
    part.work.reset();
    for (std::size_t i = 0; i < part.p.size(); ++i)
      at::mm_out(part.matrices[i], part.p[i], part.q[i].t());
    if (num_ranks > 1) at::_foreach_mul_(part.errors, static_cast<double>(num_ranks));
    at::_foreach_sub_(part.errors, part.gradients);
    if (scale.defined()) at::_foreach_div_(part.errors, scale.to(part.error.scalar_type()));
  }

  void settle(const at::Tensor& found_inf) {
    if (!options.may_skip || !found_inf.defined()) return;
    const at::Tensor is_skipped = found_inf.ne(0);
    for (Part& part : parts) {
      if (!std::exchange(part.is_changed, false)) continue;
      at::where_out(part.error, is_skipped, part.error_before, part.error);
      at::where_out(part.second, is_skipped, part.q_before, part.second);
    }
  }

  void spread_error() {
    if (num_ranks == 1) return;
    for (Part& part : parts) {
      if (part.matrices.empty()) continue;
      collectives.start_all_reduce(part.error, {})->wait();
      part.error.div_(num_ranks);
    }
  }

  TensorCollectives& collectives;
  CompressionOptions options;
  int num_ranks;
  CommDtype comm_dtype = CommDtype::same;
  std::vector<Part> parts;  ///< of each bucket
  at::Tensor scale;
  bool is_active = false;
};

PowerSgd::PowerSgd(const std::vector<Bucket>& buckets, TensorCollectives& collectives,
                   const CompressionOptions& options) {
  const at::NoGradGuard no_grad;
  impl_ = std::make_unique<Impl>(buckets, collectives, options);
}

PowerSgd::~PowerSgd() = default;

void PowerSgd::begin_step(std::int64_t step, const at::Tensor& scale) {
  impl_->begin_step(step, scale);
}

bool PowerSgd::start(std::size_t bucket, CommDtype comm_dtype) {
  Impl::Part& part = impl_->parts[bucket];
  if (!impl_->is_active || part.matrices.empty()) return false;
  const at::NoGradGuard no_grad;
  impl_->comm_dtype = comm_dtype;
  impl_->start(part);
  return true;
}

// All Q are under way before the first is waited for: the sum of one runs while the next is computed.
void PowerSgd::finish() {
  const at::NoGradGuard no_grad;
  for (Impl::Part& part : impl_->parts)
    if (part.work) impl_->send_q(part);
  for (Impl::Part& part : impl_->parts)
    if (part.work) impl_->decompress(part);
}

void PowerSgd::settle(const at::Tensor& found_inf) {
  const at::NoGradGuard no_grad;
  impl_->settle(found_inf);
}

void PowerSgd::spread_error() {
  const at::NoGradGuard no_grad;
  impl_->spread_error();
}

std::vector<CompressionState> PowerSgd::state() const {
  std::vector<CompressionState> states;
  for (const Impl::Part& part : impl_->parts)
    for (std::size_t i = 0; i < part.numbers.size(); ++i)
      states.push_back({part.numbers[i], part.errors[i], part.q_views[i]});
  return states;
}

}  // namespace multicard
