// What of a sharded training is written into files, and read from them.

#include <algorithm>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "dist/RankConditions.hpp"
#include "state/SplitFile.hpp"
#include "train/Adamw8bitOptimizer.hpp"
#include "train/ShardedStrategy.hpp"

namespace multicard {

namespace {

at::Tensor on_host(const at::Tensor& shape) {
  return at::empty_strided(shape.sizes(), shape.strides(), shape.options().device(at::kCPU));
}

/// exp_avg.NAME -> exp_avg, NAME; a state of all parameters has no second part.
std::pair<std::string, std::string> kind_and_parameter(const std::string& name) {
  const std::size_t dot = std::min(name.find('.'), name.size());
  return {name.substr(0, dot), dot < name.size() ? name.substr(dot + 1) : ""};
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

/// Pieces follow the memory of parameters, which files have row-major.
bool ShardedStrategy::can_write_pieces() const {
  const std::vector<at::Tensor> parameters = groups().tensors();
  return std::all_of(parameters.begin(), parameters.end(), [](const at::Tensor& one) { return one.is_contiguous(); });
}

/// On rank 0, which the others hear of.
void ShardedStrategy::make_room() {
  bool has_failed = false;
  if (parts().collectives.rank() == 0) {
    try {
      for (NamedTensor& entry : whole_)
        entry.tensor = on_host(entry.tensor);
      for (auto& [name, tensor] : parameters_)
        tensor = on_host(tensor);
    } catch (const std::exception&) {  // c10's, or the system's
      has_failed = true;
    }
  }
  if (!on_any_rank(parts().collectives, has_failed)) return;
  std::int64_t bytes = bytes_of(shapes_);
  for (const auto& [name, tensor] : parameters_)
    bytes += static_cast<std::int64_t>(tensor.nbytes());
  throw EnvironmentError(
      "what is split over ranks cannot be gathered for a checkpoint",
      fmt::format("rank 0 lacks the {} of host memory that this takes", human_bytes(static_cast<double>(bytes))),
      "Set data.layout=nchw, with which each rank writes its part, or parallel.shard=none.")
      .on_all_ranks();
}

/// The optimizer's tensors by name; none on a rank that has nothing to update.
std::map<std::string, at::Tensor> ShardedStrategy::own_state() const {
  return optimizer() == nullptr ? std::map<std::string, at::Tensor>{} : named(optimizer()->state());
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

NamedTensors ShardedStrategy::optimizer_state() const {
  NamedTensors state = whole_;
  const std::map<std::string, at::Tensor> own = own_state();
  for (auto& [name, tensor] : state)  // what belongs to all parameters each rank has
    if (const auto found = own.find(name); kind_and_parameter(name).second.empty() && found != own.end())
      tensor = found->second;
  return state;
}

std::vector<TensorPiece> ShardedStrategy::state_pieces() const {
  std::vector<TensorPiece> pieces;
  if (!writes_pieces_ || optimizer() == nullptr) return pieces;
  const std::vector<at::Tensor> parameters = groups().tensors();
  const std::map<std::string, at::Tensor> whole = named(shapes_);
  std::map<std::string, const ParameterPiece*> by_name;
  for (const ParameterPiece& piece : pieces_.own())
    by_name[groups().parameters()[piece.parameter].name] = &piece;
  for (const auto& [name, tensor] : optimizer()->state()) {
    const auto found = by_name.find(kind_and_parameter(name).second);
    if (found == by_name.end() || !found->second->is_first_copy) continue;
    const ParameterPiece& piece = *found->second;
    const std::int64_t ratio = ratio_of(whole.at(name).numel(), parameters[piece.parameter].numel());
    pieces.push_back({name, piece.first / ratio, tensor});
  }
  return pieces;
}

std::vector<TensorPiece> ShardedStrategy::parameter_pieces() const {
  std::vector<TensorPiece> pieces;
  for (std::size_t i = 0; writes_pieces_ && i < pieces_.own().size(); ++i) {
    const ParameterPiece& piece = pieces_.own()[i];
    const std::string& name = groups().parameters()[piece.parameter].name;
    if (piece.is_first_copy && parameters_.contains(name)) pieces.push_back({name, piece.first, pieces_.values()[i]});
  }
  return pieces;
}

void ShardedStrategy::prepare_to_write() {
  ReplicatedStrategy::prepare_to_write();
  if (!writes_pieces_) gather_state();
}

void ShardedStrategy::gather_state() {
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
    if (target == own.end() || entry.tensor.is_meta()) continue;
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
