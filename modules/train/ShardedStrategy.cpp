#include "train/ShardedStrategy.hpp"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
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

at::Tensor shape_of(const at::Tensor& tensor) {
  return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta).requires_grad(false));
}

at::Tensor on_host(const at::Tensor& shape) {
  return at::empty_strided(shape.sizes(), shape.strides(), shape.options().device(at::kCPU));
}

/// What the optimizer would hold if it updated all of it: sizes and types without memory.
NamedTensors shapes_of_state(const OptimizerOptions& options, const ParameterGroups& groups) {
  std::vector<UpdatedTensor> all;
  for (const NamedTensor& parameter : groups.parameters()) {
    const at::Tensor shape = shape_of(parameter.tensor);
    all.push_back({parameter.name, shape, shape, true, shape.numel()});
  }
  return make_optimizer(options, all)->state();
}

std::map<std::string, at::Tensor> shapes_of_split(const SplitParameters* split, const ParameterGroups& groups) {
  std::map<const at::TensorImpl*, std::string> names;
  for (const NamedTensor& parameter : groups.parameters())
    names[parameter.tensor.unsafeGetTensorImpl()] = parameter.name;
  std::map<std::string, at::Tensor> shapes;
  if (split == nullptr) return shapes;
  for (const ParameterRow& row : split->rows())
    for (const auto& [parameter, begin] : row.members)
      shapes[names.at(parameter.unsafeGetTensorImpl())] = shape_of(parameter);
  return shapes;
}

/// Blocks of 8-bit moments are cut where parts are.
void check_blocks_of_moments(const OptimizerOptions& options, const std::vector<ParameterRow>& rows) {
  if (options.name != OptimizerName::adamw8bit) return;
  for (const ParameterRow& row : rows)
    for (const auto& [parameter, begin] : row.members)
      if (begin % kMomentBlock != 0)
        throw UsageError(
            "optimizer.name is adamw8bit, whose blocks cannot be split over ranks here",
            fmt::format("a matrix of {} x {} begins in the middle of one", parameter.size(0), parameter.size(1)),
            "Set optimizer.name=adamw, or parallel.shard=none.")
            .on_all_ranks();
}

std::vector<ParameterRow> all_rows(const GradientReducer& reducer, const std::vector<at::Tensor>& whole,
                                   const SplitParameters* split, TensorCollectives& collectives) {
  std::vector<ParameterRow> rows = rows_of(reducer, whole, collectives);
  if (split == nullptr) return rows;
  const std::vector<ParameterRow> more = split->rows();
  rows.insert(rows.end(), more.begin(), more.end());
  return rows;
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

std::map<std::string, at::Tensor> named(const NamedTensors& tensors) {
  std::map<std::string, at::Tensor> by_name;
  for (const auto& [name, tensor] : tensors)
    by_name[name] = tensor;
  return by_name;
}

/// Elements of a parameter that one of a state stands for.
std::int64_t ratio_of(std::int64_t state, std::int64_t parameter) {
  return state == parameter ? 1 : kMomentBlock;
}

}  // namespace

ShardedStrategy::ShardedStrategy(const StrategyParts& parts, const GradientReducer::Options& reduction,
                                 const OptimizerOptions& optimizer)
    : ReplicatedStrategy(parts, to_parts(reduction), optimizer, Reading::sharded, Updates::no),
      split_(parts.model.split_parameters()),
      pieces_(groups().tensors(), all_rows(reducer(), whole_parameters(), split_, parts.collectives),
              parts.collectives),
      shapes_(shapes_of_state(optimizer, groups())),
      whole_(shapes_),
      parameters_(shapes_of_split(split_, groups())),
      shares_(shares()) {
  if (split_ != nullptr) check_blocks_of_moments(optimizer, split_->rows());
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
// What is split has copies, of which each adds its share.
at::Tensor ShardedStrategy::combined(const at::Tensor& norms, at::Tensor& found_inf) const {
  const at::Tensor sums = at::zeros({2}, at::TensorOptions().dtype(at::kDouble).device(parts().collectives.device()));
  if (norms.defined()) sums[0].copy_((norms.square() * shares_).sum());
  if (found_inf.defined()) sums[1].copy_(found_inf);
  parts().collectives.all_reduce(sums);
  if (found_inf.defined()) found_inf = sums[1].gt(0).to(at::kFloat);
  return sums[0].sqrt();
}

/// Of the squares of gradients, for each of this rank's pieces.
at::Tensor ShardedStrategy::shares() const {
  const std::vector<std::string> names = groups().names();
  const bool has_copies = split_ != nullptr && split_->ranks().copies != nullptr;
  const double share = has_copies ? 1.0 / split_->ranks().copies->size() : 1.0;
  std::vector<double> shares;
  for (const ParameterPiece& piece : pieces_.own())
    shares.push_back(parameters_.contains(names[piece.parameter]) ? share : 1.0);
  return at::tensor(shares, at::kDouble).to(parts().collectives.device());
}

/// On rank 0, which the others hear of.
void ShardedStrategy::make_room() {
  const at::Tensor failed = at::zeros({1}, reducer().flats().front().options().dtype(at::kFloat));
  if (parts().collectives.rank() == 0) {
    try {
      for (NamedTensor& entry : whole_)
        entry.tensor = on_host(entry.tensor);
      for (auto& [name, tensor] : parameters_)
        tensor = on_host(tensor);
    } catch (const std::exception&) {  // c10's, or the system's
      failed.fill_(1);
    }
  }
  parts().collectives.all_reduce(failed);
  if (failed.item<float>() == 0) return;
  std::int64_t bytes = bytes_of(shapes_);
  for (const auto& [name, tensor] : parameters_)
    bytes += static_cast<std::int64_t>(tensor.nbytes());
  throw EnvironmentError(
      "what is split over ranks cannot be gathered for a checkpoint",
      fmt::format("rank 0 has not the {} of host memory that it takes", human_bytes(static_cast<double>(bytes))),
      "Set run.checkpoint_every=0, or parallel.shard=none.")
      .on_all_ranks();
}

/// The optimizer's tensors by name; none on a rank that has nothing to update.
std::map<std::string, at::Tensor> ShardedStrategy::own_state() const {
  return optimizer() == nullptr ? std::map<std::string, at::Tensor>{} : named(optimizer()->state());
}

void ShardedStrategy::share_parameters() {
  pieces_.share();
  if (split_ != nullptr) split_->values_changed();
}

void ShardedStrategy::release_gathered() {
  whole_ = shapes_;
  for (auto& [name, tensor] : parameters_)
    tensor = shape_of(tensor);
}

NamedTensors ShardedStrategy::saved(NamedTensors model) const {
  for (auto& [name, tensor] : model)
    if (const auto found = parameters_.find(name); found != parameters_.end()) tensor = found->second;
  return model;
}

/// Those that are split.
void ShardedStrategy::gather_parameters() {
  ParameterPieces::State state;
  for (const std::string& name : groups().names()) {
    const auto found = parameters_.find(name);
    state.whole.push_back(found == parameters_.end() ? at::Tensor() : in_memory_order(found->second));
  }
  state.own = pieces_.values();
  pieces_.gather(state);
}

void ShardedStrategy::gather_state() {
  ReplicatedStrategy::gather_state();
  const at::NoGradGuard no_grad;
  make_room();
  if (split_ != nullptr) gather_parameters();
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
