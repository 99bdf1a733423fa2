#pragma once
/// \file What is known of the keys of adapter_config.json, as PEFT 0.21 reads them, and of an adapter's tensors.

#include <vector>

#include "io/ForeignFormat.hpp"

namespace multicard {

ForeignFormat adapter_format();
/// That, and "adapter-tensors", as `multicard help formats` and docs/models.md show them.
std::vector<ForeignFormat> adapter_formats();

}  // namespace multicard
