// Weights that bitsandbytes has stored in NF4, in several tensors each.

#include <fmt/format.h>

#include "state/ModelFolder.hpp"

namespace multicard {

namespace {
constexpr const char* kNf4State = ".quant_state.bitsandbytes__nf4";
}  // namespace

bool ModelFolder::is_stored_in_nf4(const std::string& name) const {
  return places_.contains(name + kNf4State);
}

std::vector<std::string> ModelFolder::parts_of_nf4(const std::string& name) const {
  std::vector<std::string> parts{name};
  for (const char* part : {kNf4State, ".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map"})
    if (places_.contains(name + part)) parts.push_back(name + part);
  return parts;
}

StoredNf4 ModelFolder::stored_nf4(const std::string& name) const {
  const auto if_there = [&](const char* part) {
    return places_.contains(name + part) ? std::optional(view(name + part)) : std::nullopt;
  };
  const std::span<const std::byte> state = place(name + kNf4State).entry->bytes;
  return {view(name),
          view(name + ".absmax"),
          view(name + ".quant_map"),
          if_there(".nested_absmax"),
          if_there(".nested_quant_map"),
          {reinterpret_cast<const char*>(state.data()), state.size()},
          fmt::format("{}: {}", folder_, name)};
}

}  // namespace multicard
