#include "dist/GradientReducer.hpp"

#include <map>
#include <stdexcept>

#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include "base/Clock.hpp"
#include "base/Error.hpp"
#include "dist/BucketPlan.hpp"
#include "dist/CommDtypeCodec.hpp"
#include "dist/PowerSgd.hpp"

namespace multicard {

namespace {

void check_parameter(const at::Tensor& parameter) {
  const at::ScalarType type = parameter.scalar_type();
  const bool summable = type == at::kFloat || type == at::kDouble || type == at::kBFloat16;
  if (!parameter.is_leaf() || !parameter.requires_grad() || !summable)
    throw std::invalid_argument(
        "GradientReducer requires leaves of float32, float64 or bfloat16 that require gradients");
}

void check_comm_dtype(const std::vector<at::Tensor>& parameters, CommDtype comm_dtype) {
  if (comm_dtype == CommDtype::same) return;
  for (const at::Tensor& parameter : parameters) {
    const at::ScalarType type = parameter.scalar_type();
    if (type == at::kFloat || type == type_of(comm_dtype)) continue;
    throw UsageError(
        fmt::format("parallel.gradient_dtype is {}, but gradients are {}",
                    comm_dtype == CommDtype::bf16 ? "bf16" : "fp16", type == at::kDouble ? "float64" : "bfloat16"),
        "only float32 gradients can have another communication dtype", "Set parallel.gradient_dtype=same.")
        .on_all_ranks();
  }
}

/// The first bucket's sum overlaps with the rest of backward, however long it takes to start.
BucketPlan::Limits limits_of(std::optional<double> bucket_mb, const TensorCollectives& collectives) {
  constexpr std::int64_t kFirst = std::int64_t{1} << 20;
  if (!bucket_mb) return {kFirst, collectives.bucket_bytes()};
  const auto bytes = static_cast<std::int64_t>(*bucket_mb * 1e6);
  return {bytes, bytes};
}

/// The strides that autograd wants a gradient to have (torch/csrc/autograd/utils/grad_layout_contract.h): then it adds
/// into it instead of replacing it.
std::vector<std::int64_t> gradient_strides(const at::Tensor& parameter) {
  if (parameter.is_non_overlapping_and_dense()) return parameter.strides().vec();
  std::vector<std::int64_t> strides(static_cast<std::size_t>(parameter.dim()), 1);
  for (std::size_t d = strides.size(); d-- > 1;)
    strides[d - 1] = strides[d] * parameter.size(static_cast<std::int64_t>(d));
  return strides;
}

}  // namespace

struct GradientReducer::Impl {
  struct Bucket {
    at::Tensor flat;
    int num_members = 0;
    int num_missing = 0;
    std::unique_ptr<Work> work;
  };

  struct Hook : torch::autograd::PostAccumulateGradHook {
    Hook(Impl& reducer, std::size_t number) : owner(reducer), parameter(number) {}
    void operator()(const at::Tensor&) override { owner.gradient_ready(parameter); }
    Impl& owner;
    std::size_t parameter;
  };

  Impl(std::vector<at::Tensor> all, TensorCollectives& with, const Options& options)
      : parameters(std::move(all)),
        collectives(with),
        comm_dtype(options.setting.gradient_dtype),
        num_parts(options.destination == Destination::parts ? with.size() : 1),
        plan(BucketPlan::make(parameters, limits_of(options.setting.bucket_mb, with), num_parts)) {
    if (options.destination == Destination::root) root = 0;
    const at::NoGradGuard no_grad;
    make_buffers();
    make_gradients();
    if (options.compression.rank > 0) compress(options.compression);
    if (options.overlap == Overlap::no) return;
    // No locks in hooks: autograd computes the gradients of one device on one thread, and parameters are all on one.
    for (std::size_t i = 0; i < parameters.size(); ++i)
      torch::autograd::impl::set_post_acc_grad_hooks(parameters[i], std::make_unique<Hook>(*this, i));
  }

  ~Impl() {
    // Parameters outlive the reducer, and their hooks refer to it.
    for (const at::Tensor& parameter : parameters)
      torch::autograd::impl::set_post_acc_grad_hooks(parameter, nullptr);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void make_buffers() {
    for (const auto& [type, numel] : plan.capacity)
      flats.push_back(collectives.allocate_flat(numel, type));
    cut_buckets();
  }

  void cut_buckets() {
    std::map<at::ScalarType, at::Tensor> by_type;
    for (const at::Tensor& flat : flats)
      by_type[flat.scalar_type()] = flat;
    buckets.clear();
    for (const BucketPlan::Bucket& bucket : plan.buckets)
      buckets.push_back({by_type[bucket.type].narrow(0, bucket.offset, bucket.numel), bucket.num_members, 0, nullptr});
  }

  // A plan places gradients one after another whatever its buckets: only the cuts between them change.
  void set(const ExchangeSetting& setting) {
    if (armed || num_started > 0) throw std::logic_error("GradientReducer::set within a step");
    if (compression) throw std::logic_error("GradientReducer::set of gradients that are compressed by bucket");
    comm_dtype = setting.gradient_dtype;
    if (num_parts > 1) throw std::logic_error("GradientReducer::set of buckets that are cut into parts");
    plan = BucketPlan::make(parameters, limits_of(setting.bucket_mb, collectives));
    cut_buckets();
  }

  void make_gradients() {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const BucketPlan::Place place = plan.places[i];
      // Offsets of as_strided count from the start of the storage, which is that of the whole buffer.
      gradients.push_back(
          buckets[place.bucket].flat.as_strided(parameters[i].sizes(), gradient_strides(parameters[i]), place.offset));
      parameters[i].mutable_grad() = gradients[i];
    }
  }

  void compress(const CompressionOptions& options) {
    std::vector<PowerSgd::Bucket> all;
    for (const Bucket& bucket : buckets)
      all.push_back({bucket.flat, {}});
    for (std::size_t i = 0; i < parameters.size(); ++i)
      all[plan.places[i].bucket].members.push_back({i, gradients[i]});
    compression.emplace(all, collectives, options);
  }

  void arm() {
    if (num_started > 0) throw std::logic_error("GradientReducer::arm without finish of the step before");
    arrived.assign(parameters.size(), false);
    for (Bucket& bucket : buckets)
      bucket.num_missing = bucket.num_members;
    armed = true;
  }

  void gradient_ready(std::size_t parameter) {
    if (!armed) return;
    const std::size_t bucket = plan.places[parameter].bucket;
    // What backward adds from now on would be missing in the sum, or be written while the sum reads it.
    if (bucket < num_started)
      throw std::logic_error(fmt::format("gradient {} changed after its sum had started", parameter));
    if (arrived[parameter]) return;
    arrived[parameter] = true;
    buckets[bucket].num_missing -= 1;
    // Never out of turn: the order must not depend on the order of backward, which may differ between ranks.
    while (num_started < buckets.size() && buckets[num_started].num_missing == 0)
      start_next();
  }

  void start_next() {
    const std::size_t number = num_started++;
    Bucket& bucket = buckets[number];
    const CommDtype type = comm_dtype_for(bucket.flat.scalar_type(), comm_dtype);
    if (compression && compression->start(number, type)) return;
    bucket.work = num_parts > 1 ? collectives.start_reduce_scatter(bucket.flat, type)
                                : collectives.start_all_reduce(bucket.flat, {type, root});
  }

  double finish() {
    armed = false;
    // What backward did not reach is summed as it is, in the same order: each rank starts each bucket exactly once a
    // step, and those whose rank had no rows or did not use a parameter contribute zeros.
    while (num_started < buckets.size())
      start_next();
    const TimePoint start = SteadyClock::now();
    if (compression) compression->finish();
    for (Bucket& bucket : buckets) {
      if (bucket.work) bucket.work->wait();
      bucket.work.reset();
    }
    num_started = 0;
    return seconds_since(start);
  }

  std::vector<at::Tensor> parameters, gradients, flats;
  TensorCollectives& collectives;
  CommDtype comm_dtype;
  std::optional<int> root;  ///< who gets the sums; none: all
  int num_parts;            ///< of each bucket, one for each rank; 1: sums are not split
  BucketPlan plan;
  std::vector<Bucket> buckets;
  std::optional<PowerSgd> compression;
  std::vector<bool> arrived;
  std::size_t num_started = 0;
  bool armed = false;
};

GradientReducer::GradientReducer(std::vector<at::Tensor> parameters, TensorCollectives& collectives, Options options) {
  for (const at::Tensor& parameter : parameters)
    check_parameter(parameter);
  check_comm_dtype(parameters, options.setting.gradient_dtype);
  impl_ = std::make_unique<Impl>(std::move(parameters), collectives, options);
}

GradientReducer::~GradientReducer() = default;

void GradientReducer::set(const ExchangeSetting& setting) {
  check_comm_dtype(impl_->parameters, setting.gradient_dtype);
  impl_->set(setting);
}

void GradientReducer::zero() {
  // Gaps included: sums and norms may run over whole buffers.
  for (const at::Tensor& flat : impl_->flats)
    flat.zero_();
}

void GradientReducer::begin_step(std::int64_t step, const at::Tensor& scale) {
  zero();
  if (impl_->compression) impl_->compression->begin_step(step, scale);
}

void GradientReducer::settle(const at::Tensor& found_inf) {
  if (impl_->compression) impl_->compression->settle(found_inf);
}

void GradientReducer::spread_error() {
  if (impl_->compression) impl_->compression->spread_error();
}

std::vector<CompressionState> GradientReducer::compression_state() const {
  return impl_->compression ? impl_->compression->state() : std::vector<CompressionState>{};
}

void GradientReducer::arm() {
  impl_->arm();
}

double GradientReducer::finish() {
  return impl_->finish();
}

const std::vector<at::Tensor>& GradientReducer::gradients() const {
  return impl_->gradients;
}

const BucketPlan& GradientReducer::plan() const {
  return impl_->plan;
}

const std::vector<at::Tensor>& GradientReducer::flats() const {
  return impl_->flats;
}

std::size_t GradientReducer::num_buckets() const {
  return impl_->buckets.size();
}

}  // namespace multicard
