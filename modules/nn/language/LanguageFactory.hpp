#pragma once
/// \file Networks of language, by their model folders.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include "kernels/WeightFormat.hpp"
#include "nn/language/Llama.hpp"
#include "state/ModelFolder.hpp"

namespace multicard {

enum class WeightsOf { files, chance };
/// What a model folder's config.json says, and of a folder in NF4 which linear layers are whole: as its files are, or
/// without files as its quantization_config says. \throws DataError as LlamaConfig::read() and ModelFolder::open()
LlamaConfig network_config_of(const std::string& folder, WeightsOf weights);

/// A network that is to be made, and where its weights come from: nowhere for one that is measured, whose weights are
/// zero (those in 4 bits as they happen to be).
struct NetworkPlan {
  bool has_values() const { return files || random_seed; }

  LlamaConfig config;
  at::ScalarType dtype = at::kFloat;
  WeightFormat format = {};
  std::optional<ModelFolder> files = {};          ///< which hold all that it needs; or
  std::optional<std::uint64_t> random_seed = {};  ///< of initial weights
  std::optional<at::ScalarType> copies = {};      ///< as Llama takes it; of networks that are split,
  Ends ends = Ends::whole;                        ///< likewise
};
/// Of load_network(), with its errors. Takes no memory.
NetworkPlan plan_network(const std::string& folder, at::ScalarType dtype, std::optional<std::uint64_t> random_seed,
                         WeightFormat format);

/// The language network that a model folder's config.json describes, with its weights in `dtype`, or with randomly
/// initialised ones where there is a `random_seed`: then config.json alone is read. Weights of another format are
/// quantised one by one while they are read. DataError about the files.
std::unique_ptr<Llama> load_network(const std::string& folder, at::ScalarType dtype, at::Device device,
                                    std::optional<std::uint64_t> random_seed = std::nullopt, WeightFormat format = {});
std::unique_ptr<Llama> load_network(const NetworkPlan& plan, at::Device device);
/// The first `num_layers` layers of that network, with embedding and lm_head, for measuring: without values. Blocks are
/// equal: where a folder in NF4 keeps a layer of some blocks whole, here it is in NF4.
NetworkPlan plan_of_layers(const std::string& folder, at::ScalarType dtype, std::int64_t num_layers,
                           WeightFormat format);
/// Whether the files hold what the network needs. \throws DataError
void check_files(const NetworkPlan& plan);
/// The network of a folder for its sizes alone: what there is of files, all checks of their tensors left out.
NetworkPlan plan_of_shape(const std::string& folder, at::ScalarType dtype, WeightFormat format);
/// How many bytes the weights of load_network() take beyond those of plan_of_layers() with all layers.
std::int64_t bytes_beyond_equal_blocks(const std::string& folder, at::ScalarType dtype, WeightFormat format);

}  // namespace multicard
