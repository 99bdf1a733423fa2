#include "train/ShardedStrategy.hpp"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "state/SplitFile.hpp"
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
      shares_(shares()),
      writes_pieces_(can_write_pieces()) {
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

void ShardedStrategy::share_parameters() {
  pieces_.share();
  if (split_ != nullptr) split_->values_changed();
}

}  // namespace multicard
