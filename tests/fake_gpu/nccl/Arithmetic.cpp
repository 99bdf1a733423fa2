// Sums of all types that the program passes, rounded after each addition as NCCL does.
#include <algorithm>
#include <cstring>

#include "Fake.hpp"
#include "nccl/Rendezvous.hpp"

namespace fake {

namespace {

struct Half {
  _Float16 value;
  operator float() const { return static_cast<float>(value); }
  static Half from(float number) { return {static_cast<_Float16>(number)}; }
};

struct BFloat16 {
  std::uint16_t upper;
  operator float() const {
    const std::uint32_t bits = static_cast<std::uint32_t>(upper) << 16;
    float number = 0;
    std::memcpy(&number, &bits, sizeof number);
    return number;
  }
  /// To the nearest, ties to even.
  static BFloat16 from(float number) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    if (number != number) return {0x7fff};
    return {static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16)};
  }
};

template <typename T>
T combined(T a, T b, ncclRedOp_t op) {
  switch (op) {
    case ncclSum:
      return static_cast<T>(a + b);
    case ncclMax:
      return std::max(a, b);
    case ncclMin:
      return std::min(a, b);
    default:
      not_written("this ncclRedOp_t");
  }
}

template <typename T>
void combine_all(void* to, const void* from, std::size_t number, ncclRedOp_t op) {
  auto* const a = static_cast<T*>(to);
  const auto* const b = static_cast<const T*>(from);
  for (std::size_t i = 0; i < number; ++i)
    a[i] = combined(a[i], b[i], op);
}

template <typename T>
void combine_narrow(void* to, const void* from, std::size_t number, ncclRedOp_t op) {
  auto* const a = static_cast<T*>(to);
  const auto* const b = static_cast<const T*>(from);
  for (std::size_t i = 0; i < number; ++i)
    a[i] = T::from(combined<float>(a[i], b[i], op));
}

}  // namespace

std::size_t width_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      not_written("this ncclDataType_t");
  }
}

void combine(void* to, const void* from, std::size_t number, ncclDataType_t type, ncclRedOp_t op) {
  switch (type) {
    case ncclFloat32:
      return combine_all<float>(to, from, number, op);
    case ncclFloat64:
      return combine_all<double>(to, from, number, op);
    case ncclInt8:
      return combine_all<std::int8_t>(to, from, number, op);
    case ncclUint8:
      return combine_all<std::uint8_t>(to, from, number, op);
    case ncclInt32:
      return combine_all<std::int32_t>(to, from, number, op);
    case ncclInt64:
      return combine_all<std::int64_t>(to, from, number, op);
    case ncclFloat16:
      return combine_narrow<Half>(to, from, number, op);
    case ncclBfloat16:
      return combine_narrow<BFloat16>(to, from, number, op);
    default:
      not_written("the sum of this ncclDataType_t");
  }
}

}  // namespace fake
