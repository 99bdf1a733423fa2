#pragma once
/// \file Data parallelism whose ranks share the optimizer's state.

#include <map>
#include <string>
#include <vector>

#include "dist/ParameterPieces.hpp"
#include "train/ReplicatedStrategy.hpp"

namespace multicard {

/// ddp-ds of which each rank updates a part of the parameters (Rajbhandari et al. 2020, arXiv 1910.02054, stage 1): it
/// gets the sums of that part of each bucket of gradients, holds the optimizer's state for it, and sends the others
/// what has become of the parameters. As much is sent as by an all-reduce; the state of R ranks takes 1 / R of the
/// memory. Parameters that are split (SplitParameters) are updated where they are (stage 3).
class ShardedStrategy final : public ReplicatedStrategy {
 public:
  /// See make_strategy().
  ShardedStrategy(const StrategyParts& parts, const GradientReducer::Options& reduction,
                  const OptimizerOptions& optimizer);

  bool updates() const override { return true; }
  void share_parameters() override;
  NamedTensors optimizer_state() const override;
  bool writes_pieces() const override { return writes_pieces_; }
  std::vector<TensorPiece> state_pieces() const override;
  std::vector<TensorPiece> parameter_pieces() const override;
  void load_optimizer_state(const NamedTensors& state) override;
  void prepare_to_write() override;
  void release_gathered() override;
  NamedTensors saved(NamedTensors model) const override;

 private:
  at::Tensor combined(const at::Tensor& norms, at::Tensor& found_inf) const override;
  at::Tensor shares() const;
  bool can_write_pieces() const;
  void make_room();
  void gather_parameters();
  void gather_state();
  std::map<std::string, at::Tensor> own_state() const;
  std::unique_ptr<Optimizer> own_optimizer(const OptimizerOptions& options) const;

  SplitParameters* split_;  ///< null: there are none
  ParameterPieces pieces_;
  NamedTensors shapes_;                           ///< of what a checkpoint holds, on the meta device
  NamedTensors whole_;                            ///< that; gathered on rank 0's host, else shapes_
  std::map<std::string, at::Tensor> parameters_;  ///< that are split, likewise
  at::Tensor shares_;
  bool writes_pieces_;  ///< equal on all ranks
};

}  // namespace multicard
