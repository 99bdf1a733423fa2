#include "scheduling/model/StepTimeModel.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace multicard {
namespace {

constexpr auto kNumTerms = static_cast<std::size_t>(StepTerm::count);
// Starting values are shares of a mean step, see start(). Bounds are 0 and infinity where none are given.
constexpr std::array<FormParameter, kNumTerms> kParameters{{
    {"compute_base", 0.2},       {"compute_row", 0.3},          {"launch_bound", 0.1},   {"overhead", 0.05},
    {"local_latency", 0.02},     {"local_log", 0.02},           {"local_volume", 0.1},   {"global_latency", 0.05},
    {"global_log", 0.05},        {"global_volume", 0.1},        {"global_adapter", 0.1}, {"global_step", 0.002},
    {"overlap", 2.0, 1.0, 10.0}, {"straggler", 0.02, 0.0, 0.5}, {"unpaired", 0.05},      {"unpaired_gpu", 0.01},
    {"input_row", 0.02},         {"optimizer", 0.05},           {"tensor_row", 0.1},     {"stage_row", 0.1},
    {"stage_node", 0.1},
}};
constexpr double kSharpness = 6;  // of smooth maxima
constexpr double kOverlapPenalty = 1e-3;
constexpr double kGrowthPenalty = 0.02;
constexpr double kUsualGrowth = 0.01;  // of the latency, by each further GPU

constexpr std::size_t index(StepTerm term) {
  return static_cast<std::size_t>(term);
}

/// A value and its derivatives by all parameters.
/// Carried along with each value (forward differentiation): derived by hand, every new term would change all formulas.
struct Dual {
  double value = 0;
  std::array<double, kNumTerms> slope{};

  void add(double amount, const Dual& other) {
    value += amount * other.value;
    for (std::size_t i = 0; i < kNumTerms; ++i)
      slope[i] += amount * other.slope[i];
  }
};

double log2_of(int n) {
  return std::log2(static_cast<double>(n));
}
// What a rank sends in a ring all-reduce, in units of the data: a reduce-scatter and an all-gather of (n - 1) / n each.
double ring(int n) {
  return 2.0 * (n - 1) / n;
}

/// One evaluation: what the terms of a step add up to.
class Evaluation {
 public:
  Evaluation(const StepPoint& at, std::span<const double> values) : at_(at), values_(values) {}

  Dual step() const {
    const Dual computing = micro_batch();
    // As in Pollux (Qiao et al., OSDI 2021): the last micro-batch overlaps with the all-reduce, to a degree that the
    // exponent says; those before it only accumulate gradients, without communication.
    Dual result = norm(computing, all_reduce(), values_[index(StepTerm::overlap)], index(StepTerm::overlap));
    result.add(at_.accumulation, computing);
    term(result, StepTerm::overhead, 1);
    term(result, StepTerm::optimizer, 1.0 / at_.optimizer_shards);
    const int in_layer = at_.tensor_parallel;
    const int stages = at_.pipeline_stages;
    const double replica_rows = at_.rows_per_gpu * in_layer * stages;
    term(result, StepTerm::tensor_row, replica_rows * (in_layer - 1) / in_layer);
    term(result, StepTerm::stage_row, replica_rows * (stages - 1) / stages);
    // Between stages of a replica on different nodes, activations cross the network.
    const int boundaries = std::max(at_.nodes / at_.replicas() - 1, 0);
    term(result, StepTerm::stage_node, replica_rows * boundaries / stages / at_.adapters);
    if (at_.unpaired) {
      term(result, StepTerm::unpaired, log2_of(1 + at_.max_per_node));
      term(result, StepTerm::unpaired_gpu, at_.gpus - 2);
    }
    // Reading and decoding for all GPUs of a node share its cores and run ahead of the steps: the longer of the two
    // counts, smoothly, as a fit needs derivatives.
    Dual input;
    term(input, StepTerm::input_row, at_.rows_per_gpu * at_.max_per_node * (1 + at_.accumulation));
    return norm(result, input, kSharpness);
  }

 private:
  void term(Dual& sum, StepTerm which, double amount) const {
    sum.value += amount * values_[index(which)];
    sum.slope[index(which)] += amount;
  }

  Dual micro_batch() const {
    Dual busy;
    term(busy, StepTerm::compute_base, 1);
    term(busy, StepTerm::compute_row, at_.rows_per_gpu);
    Dual launching;
    term(launching, StepTerm::launch_bound, 1);
    Dual result = norm(busy, launching, kSharpness);
    if (at_.gpus > 1) {
      // All wait for the slowest of n. The expected maximum of n random times grows about with log n.
      const double doublings = log2_of(at_.gpus);
      const double alone = result.value;
      result.add(doublings * values_[index(StepTerm::straggler)], Dual(result));
      result.slope[index(StepTerm::straggler)] += doublings * alone;
    }
    return result;
  }

  Dual all_reduce() const {
    Dual result;
    // A rank holds a part of the parameters, and reduces it with the same part of the other replicas.
    const double bytes = at_.volume / (at_.tensor_parallel * at_.pipeline_stages);
    if (const int near = at_.replicas_per_node(); near > 1) {
      term(result, StepTerm::local_latency, 1);
      term(result, StepTerm::local_log, log2_of(near));
      term(result, StepTerm::local_volume, ring(near) * bytes);
    }
    if (const int far = std::min(at_.nodes, at_.replicas()); far > 1) {
      term(result, StepTerm::global_latency, 1);
      term(result, StepTerm::global_log, log2_of(far));
      term(result, StepTerm::global_volume, ring(far) * bytes);
      // GPUs of a node that hold different parts have rings of their own, which share the node's adapters.
      const int groups = std::max(at_.max_per_node / at_.replicas_per_node(), 1);
      term(result, StepTerm::global_adapter, ring(far) * bytes * groups / at_.adapters);
      term(result, StepTerm::global_step, at_.replicas() - 2);
    }
    return result;
  }

  /// (a^p + b^p)^(1/p), which lies between the sum (p = 1) and the maximum; `exponent` is the parameter that p is.
  static Dual norm(const Dual& a, const Dual& b, double p, std::size_t exponent = kNumTerms) {
    if (b.value <= 0) return a;
    if (a.value <= 0) return b;
    // Relative to the larger of the two, so that no power overflows.
    const double ratio_a = std::pow(a.value / std::max(a.value, b.value), p);
    const double ratio_b = std::pow(b.value / std::max(a.value, b.value), p);
    const double sum = ratio_a + ratio_b;
    Dual result;
    const double value = std::max(a.value, b.value) * std::pow(sum, 1 / p);
    result.add(value * ratio_a / (sum * a.value), a);
    result.add(value * ratio_b / (sum * b.value), b);
    result.value = value;
    // d ln(norm) / dp = (Σ share_i ln(x_i) - ln(norm)) / p, with share_i = x_i^p / Σ x^p.
    if (exponent < kNumTerms) {
      const double share = ratio_a / sum;
      const double logs = share * std::log(a.value) + (1 - share) * std::log(b.value);
      result.slope[exponent] += value * (logs - std::log(value)) / p;
    }
    return result;
  }

  const StepPoint& at_;
  std::span<const double> values_;
};

/// How many different values `of` has.
template <typename Function>
std::size_t distinct(std::span<const StepObservation> observations, const Function& of) {
  std::set<double> values;
  for (const StepObservation& observation : observations)
    values.insert(static_cast<double>(of(observation.at)));
  return values.size();
}

}  // namespace

std::span<const FormParameter> StepTimeModel::parameters() const {
  return kParameters;
}

double StepTimeModel::seconds(const StepPoint& at, std::span<const double> values, std::span<double> gradient) const {
  const Dual step = Evaluation(at, values).step();
  std::ranges::copy(step.slope, gradient.begin());
  return step.value;
}

// A parameter is free only where the observations differ in what it multiplies, and often enough to separate it from
// the others of the same kind. The fit would otherwise divide one effect between two parameters arbitrarily, and
// predict other points just as arbitrarily.
std::vector<bool> StepTimeModel::identifiable(std::span<const StepObservation> observations) const {
  const auto count = [&](const auto& of) { return distinct(observations, of); };
  const std::size_t rows = count([](const StepPoint& at) { return at.rows_per_gpu; });
  const std::size_t near = count([](const StepPoint& at) { return at.replicas_per_node(); });
  const std::size_t far = count([](const StepPoint& at) { return std::min(at.nodes, at.replicas()); });
  const std::size_t gpus = count([](const StepPoint& at) { return at.gpus; });
  std::vector<bool> used(kNumTerms, false);
  const auto use = [&](StepTerm term, bool known) { used[index(term)] = known; };
  use(StepTerm::compute_base, true);
  use(StepTerm::compute_row, true);
  use(StepTerm::launch_bound, rows > 3);
  use(StepTerm::overhead, gpus > 2 || count([](const StepPoint& at) { return at.accumulation; }) > 1);
  use(StepTerm::local_latency, near > 1);
  use(StepTerm::local_log, near > 2);
  use(StepTerm::local_volume, near > 2 || count([](const StepPoint& at) { return at.volume; }) > 1);
  use(StepTerm::global_latency, far > 1);
  use(StepTerm::global_log, far > 2);
  use(StepTerm::global_volume, far > 2 || count([](const StepPoint& at) { return at.volume; }) > 1);
  use(StepTerm::global_adapter, far > 1 && count([](const StepPoint& at) { return at.adapters; }) > 1);
  use(StepTerm::global_step, far > 2);
  use(StepTerm::overlap, gpus > 2 && rows > 1);
  use(StepTerm::straggler, gpus > 2 && rows > 2);
  use(StepTerm::unpaired, count([](const StepPoint& at) { return at.unpaired; }) > 1);
  use(StepTerm::unpaired_gpu, used[index(StepTerm::unpaired)] && gpus > 2);
  use(StepTerm::input_row, count([](const StepPoint& at) { return at.max_per_node; }) > 2 && rows > 2);
  use(StepTerm::optimizer, count([](const StepPoint& at) { return at.optimizer_shards; }) > 1);
  use(StepTerm::tensor_row, count([](const StepPoint& at) { return at.tensor_parallel; }) > 1);
  use(StepTerm::stage_row, count([](const StepPoint& at) { return at.pipeline_stages; }) > 1);
  use(StepTerm::stage_node, count([](const StepPoint& at) { return at.nodes / at.replicas(); }) > 1);
  return used;
}

// Starting values are shares of the mean step, by row or by byte: in the units of the observations, whatever these are.
// Geometric means, as sizes cover orders of magnitude.
std::vector<double> StepTimeModel::start(std::span<const StepObservation> observations) const {
  double seconds = 0;
  double rows = 0;
  double volume = 0;
  for (const StepObservation& observation : observations) {
    const double share = 1.0 / static_cast<double>(observations.size());
    seconds += share * std::log(observation.seconds);
    rows += share * std::log(observation.at.rows_per_gpu);
    volume += share * std::log(std::max(observation.at.volume, 1e-9));
  }
  std::vector<double> values(kParameters.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = kParameters[i].start * std::exp(seconds);
  for (const StepTerm term :
       {StepTerm::compute_row, StepTerm::input_row, StepTerm::tensor_row, StepTerm::stage_row, StepTerm::stage_node})
    values[index(term)] /= std::exp(rows);
  for (const StepTerm term : {StepTerm::local_volume, StepTerm::global_volume, StepTerm::global_adapter})
    values[index(term)] /= std::exp(volume);
  values[index(StepTerm::overlap)] = kParameters[index(StepTerm::overlap)].start;
  values[index(StepTerm::straggler)] = kParameters[index(StepTerm::straggler)].start;
  return values;
}

std::vector<StepTimeForm::Penalty> StepTimeModel::penalties(std::span<const double> values) const {
  std::vector<Penalty> result(2, Penalty{.gradient = std::vector<double>(kNumTerms, 0.0)});
  // Where observations do not decide, the exponent goes to 1, a sum: no overlap is promised.
  result[0].residual = kOverlapPenalty * (values[index(StepTerm::overlap)] - 1);
  result[0].gradient[index(StepTerm::overlap)] = kOverlapPenalty;
  // Few nodes cannot tell a latency from one that grows with the ring, and the wrong choice errs a lot for many nodes.
  const double latency = values[index(StepTerm::global_latency)];
  const double growth = values[index(StepTerm::global_step)];
  if (latency > 0 && growth > 0) {
    result[1].residual = kGrowthPenalty * std::log(growth / (kUsualGrowth * latency));
    result[1].gradient[index(StepTerm::global_latency)] = -kGrowthPenalty / latency;
    result[1].gradient[index(StepTerm::global_step)] = kGrowthPenalty / growth;
  }
  return result;
}

}  // namespace multicard
