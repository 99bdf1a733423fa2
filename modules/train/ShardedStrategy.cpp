#include "train/ShardedStrategy.hpp"

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "train/Adamw8bitOptimizer.hpp"

namespace multicard {

namespace {

GradientReducer::Options to_parts(GradientReducer::Options options) {
  options.destination = Destination::parts;
  return options;
}

/// What the optimizer would hold if it updated all of it: sizes and types without memory.
NamedTensors shapes_of_state(const OptimizerOptions& options, const ParameterGroups& groups) {
  std::vector<UpdatedTensor> all;
  for (const NamedTensor& parameter : groups.parameters()) {
    const at::Tensor& tensor = parameter.tensor;
    const at::Tensor shape =
        at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta).requires_grad(false));
    all.push_back({parameter.name, shape, shape, true, tensor.numel()});
  }
  return make_optimizer(options, all)->state();
}

NamedTensors on_host(NamedTensors shapes) {
  for (auto& [name, tensor] : shapes)
    tensor = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU));
  return shapes;
}

/// exp_avg.NAME -> exp_avg, NAME; a state of all parameters has no second part.
std::pair<std::string, std::string> kind_and_parameter(const std::string& name) {
  const std::size_t dot = std::min(name.find('.'), name.size());
  return {name.substr(0, dot), dot < name.size() ? name.substr(dot + 1) : ""};
}

at::Tensor in_memory_order(const at::Tensor& tensor) {
  return tensor.as_strided({tensor.numel()}, {1}, tensor.storage_offset());
}

/// The elements of `source`, which has the sizes of `like`, in the order of the memory of `like`.
at::Tensor in_memory_order(const at::Tensor& source, const at::Tensor& like) {
  if (source.strides() == like.strides()) return in_memory_order(source);
  const at::Tensor ordered = at::empty_strided(like.sizes(), like.strides(), source.options());
  return in_memory_order(ordered.copy_(source));
}

/// Elements of a parameter that one of a state stands for.
std::int64_t ratio_of(std::int64_t state, std::int64_t parameter) {
  return state == parameter ? 1 : kMomentBlock;
}

}  // namespace

ShardedStrategy::ShardedStrategy(const StrategyParts& parts, const GradientReducer::Options& reduction,
                                 const OptimizerOptions& optimizer)
    : ReplicatedStrategy(parts, to_parts(reduction), optimizer, Reading::sharded, Updates::no),
      pieces_(groups().tensors(), reducer(), parts.collectives),
      shapes_(shapes_of_state(optimizer, groups())),
      whole_(shapes_) {
  update_with(own_optimizer(optimizer));
}

/// Null on a rank that has nothing to update.
std::unique_ptr<Optimizer> ShardedStrategy::own_optimizer(const OptimizerOptions& options) const {
  const std::vector<std::string> names = groups().names();
  const std::vector<at::Tensor> parameters = groups().tensors();
  std::map<std::string, bool> decays;
  for (const ParameterGroup& group : groups().groups())
    for (const std::size_t i : group.members)
      decays[groups().parameters()[i].name] = group.decays;
  std::vector<UpdatedTensor> updated;
  for (std::size_t i = 0; i < pieces_.own().size(); ++i) {
    const std::size_t parameter = pieces_.own()[i].parameter;
    updated.push_back({names[parameter], pieces_.values()[i], pieces_.gradients()[i], decays.at(names[parameter]),
                       parameters[parameter].numel()});
  }
  return updated.empty() ? nullptr : make_optimizer(options, updated);
}

// No rank sees all gradients: norms are added as squares, and a value that is not finite on one rank is one on all.
void ShardedStrategy::combine(at::Tensor& norm, at::Tensor& found_inf) const {
  const at::Tensor sums =
      at::stack({norm.square(), found_inf.defined() ? found_inf.to(at::kDouble) : at::zeros_like(norm)});
  parts().collectives.all_reduce(sums);
  norm = sums[0].sqrt();
  if (found_inf.defined()) found_inf = sums[1].gt(0).to(at::kFloat);
}

/// On rank 0, which the others hear of.
void ShardedStrategy::make_room() {
  const at::Tensor failed = at::zeros({1}, reducer().flats().front().options().dtype(at::kFloat));
  if (parts().collectives.rank() == 0) {
    try {
      whole_ = on_host(shapes_);
    } catch (const std::exception&) {  // c10's, or the system's
      failed.fill_(1);
    }
  }
  parts().collectives.all_reduce(failed);
  if (failed.item<float>() == 0) return;
  throw EnvironmentError("the optimizer's state cannot be gathered for a checkpoint",
                         fmt::format("rank 0 has not the {} of host memory that it takes",
                                     human_bytes(static_cast<double>(bytes_of(shapes_)))),
                         "Set run.checkpoint_every=0, or parallel.shard=none.")
      .on_all_ranks();
}

/// The optimizer's tensors by name; none on a rank that has nothing to update.
std::map<std::string, at::Tensor> ShardedStrategy::own_state() const {
  std::map<std::string, at::Tensor> own;
  if (optimizer() == nullptr) return own;
  for (const NamedTensor& entry : optimizer()->state())
    own[entry.name] = entry.tensor;
  return own;
}

void ShardedStrategy::gather_state() {
  ReplicatedStrategy::gather_state();
  const at::NoGradGuard no_grad;
  make_room();
  const std::vector<std::string> names = groups().names();
  const std::vector<at::Tensor> parameters = groups().tensors();
  const std::map<std::string, at::Tensor> own = own_state();
  std::map<std::string, std::map<std::string, at::Tensor>> kinds;
  for (const NamedTensor& entry : whole_) {
    const auto [kind, parameter] = kind_and_parameter(entry.name);
    if (!parameter.empty())
      kinds[kind][parameter] = in_memory_order(entry.tensor);
    else if (!entry.tensor.is_meta())
      entry.tensor.copy_(own.at(entry.name));
  }
  for (const auto& [kind, whole] : kinds) {
    ParameterPieces::State state;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto found = whole.find(names[i]);
      state.whole.push_back(found == whole.end() ? at::Tensor() : found->second);
      if (found != whole.end()) state.ratio = ratio_of(found->second.numel(), parameters[i].numel());
    }
    for (const ParameterPiece& piece : pieces_.own()) {
      const auto found = own.find(kind + "." + names[piece.parameter]);
      state.own.push_back(found == own.end() ? at::Tensor() : found->second);
    }
    pieces_.gather(state);
  }
}

void ShardedStrategy::load_optimizer_state(const NamedTensors& state) {
  const at::NoGradGuard no_grad;
  const std::vector<std::string> names = groups().names();
  const std::vector<at::Tensor> parameters = groups().tensors();
  const std::map<std::string, at::Tensor> own = own_state();
  for (const NamedTensor& entry : state) {
    const auto target = own.find(entry.name);
    if (target == own.end()) continue;
    const std::string name = kind_and_parameter(entry.name).second;
    const auto piece = std::find_if(pieces_.own().begin(), pieces_.own().end(),
                                    [&](const ParameterPiece& one) { return names[one.parameter] == name; });
    if (piece == pieces_.own().end()) {  // of all parameters
      target->second.copy_(entry.tensor);
      continue;
    }
    const at::Tensor& parameter = parameters[piece->parameter];
    const std::int64_t ratio = ratio_of(entry.tensor.numel(), parameter.numel());
    const at::Tensor source = ratio == 1 ? in_memory_order(entry.tensor, parameter) : entry.tensor;
    target->second.copy_(source.narrow(0, piece->first / ratio, target->second.numel()));
  }
}

}  // namespace multicard
