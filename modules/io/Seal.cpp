#include "io/Seal.hpp"

#include <cerrno>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "io/Bytes.hpp"
#include "io/Sha256.hpp"

namespace multicard {

namespace {

/// Follows the 32 bytes of the checksum. Its first byte is not ASCII, so that no text ends with it.
constexpr std::string_view kMark("\x8amulticard-seal\n", 16);
constexpr std::size_t kSealBytes = Sha256::kBytes + kMark.size();

/// The checksum of the next `size` bytes.
std::string checksum(RegularFile& file, std::uint64_t size) {
  Sha256 digest;
  digest.add(file, size);
  return digest.bytes();
}

/// The last bytes of a sealed file, else nothing; the file is then read from where it was.
std::string seal_of(const RegularFile& file) {
  if (file.size() < kSealBytes) return {};
  std::string tail(kSealBytes, '\0');
  const auto begin = static_cast<off_t>(file.size() - kSealBytes);
  const ssize_t got = pread(file.descriptor(), tail.data(), tail.size(), begin);
  if (got < 0) throw DataError(fmt::format("{} cannot be read", file.path()), system_error_text(errno));
  return static_cast<std::size_t>(got) == kSealBytes && tail.ends_with(kMark) ? tail : std::string();
}

}  // namespace

void seal(const std::string& path) {
  RegularFile file(path);
  const std::string sum = checksum(file, file.size());
  // In one write: a file that was cut off inside the seal does not end in the mark, and counts as not sealed.
  OutputFile out(path, Opening::append);
  out.write(sum + std::string(kMark));
  out.close();
}

bool check_seal(const std::string& path) {
  RegularFile file(path);
  const std::string tail = seal_of(file);
  if (tail.empty()) return false;
  if (tail.substr(0, Sha256::kBytes) != checksum(file, file.size() - kSealBytes))
    throw DataError(fmt::format("{} is damaged", path), "its content does not match its checksum");
  return true;
}

}  // namespace multicard
