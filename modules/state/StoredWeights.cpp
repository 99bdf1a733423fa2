// Weights that bitsandbytes has stored in NF4 or torchao in int4, in several tensors each.

#include <fmt/format.h>

#include "state/ModelFolder.hpp"

namespace multicard {

namespace {

constexpr const char* kNf4State = ".quant_state.bitsandbytes__nf4";

/// LAYER.weight -> LAYER + part
std::string companion(const std::string& weight, const char* part) {
  return weight.substr(0, weight.rfind('.')) + part;
}

}  // namespace

// By their companions: the tensor under the plain name is the packed bytes, whose type and shape say nothing.
bool ModelFolder::is_stored_in_nf4(const std::string& name) const {
  return places_.contains(name + kNf4State);
}

bool ModelFolder::is_stored_in_int4(const std::string& name) const {
  return places_.contains(companion(name, ".scales")) && places_.contains(companion(name, ".zeros"));
}

bool ModelFolder::is_packed(const std::string& name) const {
  return is_stored_in_nf4(name) || is_stored_in_int4(name);
}

bool ModelFolder::has_nested_scales(const std::string& name) const {
  return places_.contains(name + ".nested_absmax");
}

std::vector<std::string> ModelFolder::parts_of_packed(const std::string& name) const {
  // All of them count as used: a companion left over would be called a tensor that the model does not have.
  std::vector<std::string> parts{name};
  for (const char* part : {kNf4State, ".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map"})
    if (places_.contains(name + part)) parts.push_back(name + part);
  for (const char* part : {".scales", ".zeros"})
    if (places_.contains(companion(name, part))) parts.push_back(companion(name, part));
  return parts;
}

StoredNf4 ModelFolder::stored_nf4(const std::string& name) const {
  const auto if_there = [&](const char* part) {
    return places_.contains(name + part) ? std::optional(view(name + part)) : std::nullopt;
  };
  // The state is JSON in the bytes of a uint8 tensor, which is how bitsandbytes puts text into a file of tensors.
  const std::span<const std::byte> state = place(name + kNf4State).entry->bytes;
  return {view(name),
          view(name + ".absmax"),
          view(name + ".quant_map"),
          if_there(".nested_absmax"),
          if_there(".nested_quant_map"),
          {reinterpret_cast<const char*>(state.data()), state.size()},
          fmt::format("{}: {}", folder_, name)};
}

StoredWeight ModelFolder::stored_weight(const std::string& name) const {
  if (is_stored_in_nf4(name)) return stored_nf4(name);
  return StoredInt4{view(name), view(companion(name, ".scales")), view(companion(name, ".zeros")),
                    fmt::format("{}: {}", folder_, name)};
}

}  // namespace multicard
