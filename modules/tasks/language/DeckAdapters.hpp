#pragma once
/// \file The adapters that a deck asks for.

#include <optional>

#include "nn/language/Llama.hpp"
#include "nn/language/Lora.hpp"
#include "state/PeftAdapter.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// The adapters of a deck that starts from none. \pre rank, alpha and rslora are set
AdapterOptions adapters_of_deck(const MethodOptions& method);

/// The adapters of the deck, or of the adapter that it starts from, for `network`. \throws UsageError where the deck
/// names settings that are not those of the adapter
AdapterOptions adapter_options(const MethodOptions& method, const std::optional<PeftAdapter>& start,
                               const Llama& network);

}  // namespace multicard
