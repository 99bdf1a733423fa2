#pragma once
/// \file The language model of a deck, ready to train.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "comm/Communicator.hpp"
#include "dist/TensorCollectives.hpp"
#include "nn/language/Llama.hpp"
#include "nn/language/Lora.hpp"
#include "sharding/ShardedNetwork.hpp"
#include "state/AdapterConfig.hpp"
#include "state/TensorFile.hpp"
#include "tasks/interface/MeasuredModel.hpp"
#include "tasks/interface/StepSeed.hpp"
#include "tasks/language/BaseIdentity.hpp"
#include "tasks/language/Preference.hpp"
#include "tasks/options/RunOptions.hpp"
#include "train/Model.hpp"

namespace multicard {

/// Key of the SHA-256 of the base model's weights in a checkpoint.
inline constexpr const char* kBaseHash = "base_model_sha256";

at::ScalarType weights_type(WeightDtype dtype);
/// Of the weights of a deck's model: those that are trained have the type of their updates, frozen ones model.dtype.
at::ScalarType base_type(const RunOptions& options);
/// How weights are split over ranks that all compute on such a device. They are gathered in the type of products, to
/// which a product would round them, where it is narrower than their own. Embedding and output layer are split where
/// they are trained: where they are frozen, the part that a rank would keep and the buffer that both are gathered into
/// take as much as they do, on two ranks or where they are tied.
void set_splitting(NetworkPlan& plan, const RunOptions& options, at::Device device);

/// A Llama-type network with the weights of its folder and, with adapters, those of the deck; and what it is trained
/// to do.
class LanguageModel final : public Model, public MeasuredModel {
 public:
  /// Reads the folder on every rank (ranks of a node share its pages), or of split weights each rank's part. Frozen
  /// weights have the type model.dtype, what is trained bfloat16 with model.trainable_dtype bf16, else the master type
  /// of the precision. \param sharding collective then: over these ranks the blocks of the network are split, for
  /// as long as this lives; none: every rank has them whole \throws UsageError and DataError about the options and the
  /// files
  LanguageModel(const RunOptions& options, at::Device device, const ShardRanks& sharding = {});

  /// Whether the deck's folder holds the weights of its model, without reading them. Not collective. \throws UsageError
  /// and DataError
  static void check_files(const RunOptions& options);
  void check_files() const { check_files(options_); }

  Llama& network() { return *network_; }
  const Llama& network() const { return *network_; }
  bool has_adapters() const { return adapter_.has_value(); }
  /// Of has_adapters().
  const AdapterConfig& adapter() const { return *adapter_; }
  /// What is trained, by its names in files: the adapters, or all weights.
  const NamedTensors& trained() const { return has_adapters() ? network_->adapters() : network_->weights(); }
  /// Gives it the values of a file; of what is split each rank reads its part. Errors as copy_into()
  void load_trained(const TensorFile& file);
  /// "model.safetensors", or "adapter_model.safetensors".
  std::string file_name() const;
  /// The files that belong to it, by name: the adapter's settings; or the model's settings and its tokenizer.
  std::map<std::string, std::string> non_tensor_files() const;
  /// Fingerprint of what the log-probabilities of the reference depend on, except the base weights and
  /// the rows. Reads the adapter that the deck names.
  std::string reference_settings() const;
  BaseIdentity& base_identity() { return base_identity_; }
  /// Its SHA-256; empty before BaseIdentity::finish().
  std::map<std::string, std::string> identity() const;
  /// Collective over `communicator`. As evaluate().
  TextTotals score(DataSource& test_set, const Communicator& communicator);
  /// Collective. Reads one epoch of `source`, each rank its part, and calls `body` with as many rows as are computed at
  /// once. \param network that computes there; null: this one's
  void for_each_part(DataSource& source, const Communicator& communicator,
                     const std::function<void(const Batch& part)>& body, Llama* network = nullptr) const;
  /// The objective where it is one of preference pairs, else null.
  Preference* preference() const { return preference_; }
  /// A network as this one was before it was trained, for the reference of preference pairs.
  std::unique_ptr<Llama> frozen_start() const;
  /// Over which its weights are split.
  const ShardRanks& shard_ranks() const { return sharding_; }
  /// Where weights are split over ranks, the bytes of files that this rank has read for its part; 0 without
  /// files.
  std::optional<std::uint64_t> bytes_read() const {
    return sharding_.group ? std::optional(bytes_read_) : std::nullopt;
  }
  /// Bytes of the adapters; 0 without.
  std::int64_t adapter_bytes() const;
  /// Operations of one sequence of `length` tokens, forward and backward, whatever is computed twice.
  double flops(std::int64_t length) const;

  /// \throws UsageError for a model that is converted to int4
  std::vector<NamedTensor> parameters() const override;
  /// Makes room for their gradients the first time.
  SplitParameters* split_parameters() override;
  std::vector<NamedTensor> buffers() const override { return {}; }
  /// Where weights are gathered, every pass is one of all ranks.
  bool runs_on_empty_batch() const override { return sharding_.group != nullptr; }
  void begin_step(std::int64_t step, int replica) override;
  Loss forward(const Batch& batch) override;
  /// Tokens that were read, those of them that are targets, and those that were computed, with padding; and the metrics
  /// of the objective.
  std::vector<SumKind> sums() const override;
  Evaluation evaluate(DataSource& test_set, const Communicator& communicator) override;
  FrozenBytes frozen() const override;
  StageBytes activation_bytes(const PartShape& part, const Backward& backward) override;
  std::optional<StageBytes> switched_activation_bytes(const PartShape& part, const Backward& backward) override;
  StageBytes evaluation_bytes(const PartShape& part) override;
  void set_micro_batch(std::int64_t rows) override { options_.run.micro_batch = rows; }
  /// What forward and backward take, measured once for each kind of checkpointing.
  const MeasuredPair& measured(Checkpointing mode, const Backward& backward);
  /// What `part` is as the size of such work.
  WorkSize work_size(const PartShape& part) const;
  Checkpointing checkpointing() const {
    return options_.model.activation_checkpointing ? Checkpointing::per_layer : Checkpointing::off;
  }

 private:
  /// Whether the method can use the weights as the folder stores them. \throws UsageError
  void check_storage();
  /// With frozen or as yet untrained weights, without adapters.
  ShardedNetwork base_network(const ShardRanks& sharding) const;
  /// Collective over the ranks that share the network. \return whether all have done it; one that has not throws
  bool is_done_by_group(const std::function<void()>& body) const;
  /// Adapters and checkpointing.
  void complete_network();
  ShardedNetwork loaded_network(const ShardRanks& sharding) const;
  /// As the deck says, which is returned.
  AdapterOptions add_adapters(Llama& network) const;
  void make_objective();
  /// Whether a copy of the output layer is trained along with adapters.
  bool trains_head() const;
  AdapterConfig config_of(const AdapterOptions& adapters) const;
  /// \param work of `length` tokens in one row, all of them targets
  MeasuredPair measure(const std::function<void(std::int64_t length)>& work);

  RunOptions options_;
  std::string folder_;
  at::Device device_;
  std::uint64_t bytes_read_ = 0;
  ShardRanks sharding_;  ///< none: the network is whole on every rank
  std::optional<std::uint64_t> random_seed_;
  bool is_converted_ = false;  ///< to int4
  double attention_dropout_ = 0;
  at::ScalarType base_type_ = at::kFloat;
  StepSeeds seeds_;  ///< of dropout
  std::unique_ptr<Llama> network_;
  std::shared_ptr<ShardedBlocks> split_;  ///< the network's, where they can be trained
  std::optional<AdapterConfig> adapter_;
  std::unique_ptr<LanguageObjective> objective_;
  Preference* preference_ = nullptr;  ///< objective_, where it is one
  BaseIdentity base_identity_;
  std::optional<at::ScalarType> copies_;  ///< of trained weights, in the type in which all ranks gather them
  std::map<Checkpointing, MeasuredPair> measured_;
  std::optional<MeasuredPair> measured_evaluation_;
};

}  // namespace multicard
