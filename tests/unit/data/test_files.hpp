#pragma once
// Input files of every format, as tests need them.

#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "prepare/images/Image.hpp"

namespace multicard::test {

using Bytes = std::vector<std::uint8_t>;

inline void write_bytes(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

inline Bytes read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

inline void cut_file(const std::string& path, std::size_t num_bytes) {
  Bytes bytes = read_bytes(path);
  bytes.resize(num_bytes);
  write_bytes(path, bytes);
}

/// An IDX file: magic, numbers, bytes.
inline Bytes idx(std::uint32_t magic, const std::vector<std::uint32_t>& dims, const Bytes& values) {
  Bytes bytes;
  const auto add = [&](std::uint32_t number) {
    for (const int shift : {24, 16, 8, 0})
      bytes.push_back(static_cast<std::uint8_t>(number >> shift));
  };
  add(magic);
  for (const std::uint32_t dim : dims)
    add(dim);
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

/// Bytes that are hard to confuse: value i is (i * 7 + i / 251) mod 256.
inline Bytes pattern(std::size_t count) {
  Bytes bytes;
  for (std::size_t i = 0; i < count; ++i)
    bytes.push_back(static_cast<std::uint8_t>(i * 7 + i / 251));
  return bytes;
}

}  // namespace multicard::test
