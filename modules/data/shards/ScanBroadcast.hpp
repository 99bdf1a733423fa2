#pragma once
/// \file Sending what opening a set of shards has found; for modules/data only.

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "comm/Communicator.hpp"

namespace multicard {

/// Gives members of a value to all ranks, one after the other, in one order on all ranks: root's are sent, the others'
/// are replaced. Collective.
class ScanBroadcast {
 public:
  ScanBroadcast(const Communicator& communicator, int root) : communicator_(communicator), root_(root) {}

  template <class T>
  void operator()(T& value) const {
    static_assert(std::is_arithmetic_v<T>);
    value = communicator_.broadcast_value(value, root_);
  }
  void operator()(std::string& text) const { text = communicator_.broadcast(text, root_); }
  void operator()(std::vector<std::string>& texts) const {
    resize(texts);
    for (std::string& text : texts)
      (*this)(text);
  }
  /// Numbers, and what consists of them.
  template <class T>
  void operator()(std::vector<T>& values) const {
    static_assert(std::is_trivially_copyable_v<T>);
    resize(values);
    communicator_.broadcast(std::span(reinterpret_cast<char*>(values.data()), values.size() * sizeof(T)), root_);
  }

 private:
  template <class T>
  void resize(std::vector<T>& values) const {
    std::uint64_t number = values.size();
    (*this)(number);
    values.resize(number);
  }

  const Communicator& communicator_;
  int root_;
};

}  // namespace multicard
