#include "io/Seal.hpp"

#include <string_view>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "io/Bytes.hpp"
#include "io/Sha256.hpp"

namespace multicard {

namespace {

/// Stands behind the 32 bytes of the checksum. Its first byte is not ASCII, so that no text ends with it.
constexpr std::string_view kMark("\x8amulticard-seal\n", 16);
constexpr std::size_t kSealBytes = Sha256::kBytes + kMark.size();

/// The checksum of the next `size` bytes.
std::string checksum(RegularFile& file, std::uint64_t size) {
  Sha256 digest;
  digest.add(file, size);
  return digest.bytes();
}

}  // namespace

void seal(const std::string& path) {
  RegularFile file(path);
  const std::string sum = checksum(file, file.size());
  OutputFile out(path, Opening::append);
  out.write(sum + std::string(kMark));
  out.close();
}

bool check_seal(const std::string& path) {
  RegularFile file(path);
  if (file.size() < kSealBytes) return false;
  const std::string sum = checksum(file, file.size() - kSealBytes);
  std::string tail(kSealBytes, '\0');
  tail.resize(file.read(tail.data(), tail.size()));
  if (!tail.ends_with(kMark) || tail.size() != kSealBytes) return false;
  if (tail.substr(0, Sha256::kBytes) != sum)
    throw DataError(fmt::format("{} is damaged", path), "its content does not match its checksum");
  return true;
}

}  // namespace multicard
