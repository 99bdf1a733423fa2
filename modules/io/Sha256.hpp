#pragma once
/// \file SHA-256 of texts and files.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/RegularFile.hpp"

namespace multicard {

/// The digest of bytes that come piece by piece.
class Sha256 {
 public:
  static constexpr std::size_t kBytes = 32;

  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view bytes);
  /// What `file` has from where it stands, at most `most` bytes.
  /// \return how many bytes these were
  std::uint64_t add(RegularFile& file, std::uint64_t most = ~std::uint64_t{0});
  /// The digest of what was added; nothing can be added afterwards.
  std::string bytes();
  /// The same as 64 hexadecimal digits.
  std::string hexadecimal();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

/// As 64 hexadecimal digits.
std::string sha256(std::string_view bytes);
/// Nothing of use once it is asked to stop.
std::string sha256_of_file(const std::string& path, const std::stop_token& stop = {});

}  // namespace multicard
