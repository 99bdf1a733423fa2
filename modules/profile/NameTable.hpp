#pragma once
/// \file Numbers for names that many events share.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace multicard {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

/// A map from texts that is searched without making a std::string.
template <class T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

/// Distinct names, numbered from 0 in the order of their first use.
class NameTable {
 public:
  std::int32_t id(std::string_view name) {
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    const auto added = ids_.emplace(name, static_cast<std::int32_t>(names_.size())).first;
    names_.push_back(&added->first);
    return added->second;
  }

  const std::string& name(std::int32_t id) const { return *names_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return names_.size(); }

 private:
  TextMap<std::int32_t> ids_;
  std::vector<const std::string*> names_;  ///< keys of ids_, which do not move
};

}  // namespace multicard
