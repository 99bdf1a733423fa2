#pragma once
/// \file Pointers among the values that an autograd function saves for its backward pass.

#include <cstdint>
#include <string>

#include <ATen/core/ivalue.h>

namespace multicard {

/// `pointer` as a saved value, which knows integers but no pointers.
template <typename T>
c10::IValue saved_value(T* pointer) {
  return reinterpret_cast<std::int64_t>(pointer);
}

/// The pointer that saved_value() made `value` of. What it points to must have outlived the forward pass.
template <typename T>
T* saved_pointer(const c10::IValue& value) {
  return reinterpret_cast<T*>(value.toInt());  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace multicard
