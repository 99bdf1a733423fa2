#pragma once
/// \file What is known of the keys of config.json and generation_config.json, as transformers 5.23 reads them.

#include <vector>

#include "io/ForeignFormat.hpp"
#include "nn/language/LlamaConfig.hpp"

namespace multicard {

/// The keys of config.json for a class of models.
ForeignFormat config_format(LlamaArchitecture architecture);
/// Those of rope_parameters and rope_scaling.
ForeignFormat rope_format();
/// Those of quantization_config, of bitsandbytes and of `export --int4`.
ForeignFormat nf4_format();
ForeignFormat int4_format();
/// Those of generation_config.json.
ForeignFormat generation_format();

/// All of them, as `multicard help formats` and docs/models.md show them: "config" for all classes, then what each adds
/// to it, and the others.
std::vector<ForeignFormat> config_formats();

}  // namespace multicard
