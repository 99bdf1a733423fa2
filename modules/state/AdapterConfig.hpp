#pragma once
/// \file adapter_config.json of LoRA adapters in PEFT's layout.

#include <string>
#include <vector>

#include "state/AdapterSettings.hpp"

namespace multicard {

/// How `targets` of an adapter name layers.
enum class TargetKind {
  names,  ///< each the whole name of a layer or its last parts, e.g. "q_proj"; "all-linear" alone means all but lm_head
  pattern  ///< one regular expression for whole names
};

/// What adapter_config.json says.
struct AdapterConfig {
  AdapterSettings settings = {};
  TargetKind target_kind = TargetKind::names;
  std::string base_model;            ///< name or folder; empty: not said
  bool selects_layers = false;       ///< other settings leave out some of the targets: those with tensors are meant
  std::vector<std::string> remarks;  ///< what of the file is left out, for people
};

/// The configuration with `targets` as a file is to say them, given the names of the adapted layers: instead of
/// "all-linear" the last parts of their names (what PEFT writes), and a single target that none of the names ends in is
/// a pattern.
AdapterConfig with_resolved_targets(AdapterConfig config, const std::vector<std::string>& layers);

/// Reads the text of adapter_config.json; missing keys have PEFT's defaults.
/// \throws DataError naming `origin` and the key for a value that is impossible, and for settings that change the
/// arithmetic in a way that is not supported: DoRA, biases, modules_to_save that stay tied and the like.
AdapterConfig parse_adapter_config(const std::string& text, const std::string& origin);
/// The text of adapter_config.json as PEFT writes it: keys sorted, two blanks of indentation, no newline at the end.
/// But patterns keep their order, in which the first that matches decides; PEFT sorts them too.
std::string adapter_config_json(const AdapterConfig& config);

}  // namespace multicard
