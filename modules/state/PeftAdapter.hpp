#pragma once
/// \file LoRA adapters in PEFT's layout: adapter_config.json and adapter_model.safetensors.

#include <string>
#include <vector>

#include "state/AdapterConfig.hpp"
#include "state/NamedTensor.hpp"
#include "state/TensorFile.hpp"

namespace multicard {

inline constexpr const char* kAdapterFile = "adapter_model.safetensors";
inline constexpr const char* kAdapterConfigFile = "adapter_config.json";

/// An adapter folder.
class PeftAdapter {
 public:
  /// \param file name of the tensors' file
  /// \throws DataError when a file is missing or damaged, when the settings are not supported (parse_adapter_config),
  /// and when the tensors are neither pairs lora_A [rank, in], lora_B [out, rank] nor weights of modules_to_save, all
  /// of floating-point numbers.
  static PeftAdapter open(const std::string& folder, const std::string& file = kAdapterFile);

  const std::string& path() const { return folder_; }
  /// Where it selects layers, the targets are the names of those that have tensors.
  const AdapterConfig& config() const { return config_; }
  const TensorFile& file() const { return file_; }
  /// Names of the adapted layers as the base model has them, e.g. "model.layers.0.self_attn.q_proj"; sorted.
  std::vector<std::string> layers() const;
  /// Names of the file's tensors for a layer.
  static std::string a_name(const std::string& layer);
  static std::string b_name(const std::string& layer);
  /// Names of the weights that are stored whole as the base model has them, e.g. "lm_head.weight"; sorted.
  std::vector<std::string> saved_weights() const;
  /// Name of the file's tensor for such a weight.
  static std::string saved_name(const std::string& weight);

  /// Fills every target (PEFT's file names) from the tensor of its name; dtype and device of the targets stay.
  /// \throws DataError, with nothing written, when names or shapes differ.
  void load_into(const NamedTensors& targets) const {
    copy_into(targets, file_, "The adapter was made for a model of another width: check model.path and model.adapter.");
  }

 private:
  PeftAdapter(std::string folder, AdapterConfig config, const std::string& file);

  std::string folder_;
  AdapterConfig config_;
  TensorFile file_;
};

/// The adapted layers of tensors with PEFT's file names, among which may be `modules_to_save`; sorted. \throws
/// DataError for a name that is none.
std::vector<std::string> adapted_layers_of(const NamedTensors& tensors, const std::vector<std::string>& modules_to_save,
                                           const std::string& origin);

/// Writes both files into the existing folder `folder`, with resolved targets.
/// \param tensors by PEFT's file names, any device
void write_adapter(const std::string& folder, const AdapterConfig& config, const NamedTensors& tensors,
                   const SafetensorsMetadata& metadata = {{"format", "pt"}});

}  // namespace multicard
