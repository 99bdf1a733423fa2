#include "io/Sha256.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <openssl/evp.h>

namespace multicard {

struct Sha256::Context {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> handle{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  EVP_DigestInit_ex(context_->handle.get(), EVP_sha256(), nullptr);
}

Sha256::~Sha256() = default;

void Sha256::add(std::string_view bytes) {
  EVP_DigestUpdate(context_->handle.get(), bytes.data(), bytes.size());
}

std::uint64_t Sha256::add(RegularFile& file, std::uint64_t most) {
  // Piece by piece, since files of weights may be larger than the memory.
  constexpr std::uint64_t kPiece = 1 << 20;
  std::string piece(kPiece, '\0');
  std::uint64_t added = 0;
  while (added < most) {
    const std::size_t got = file.read(piece.data(), static_cast<std::size_t>(std::min(kPiece, most - added)));
    if (got == 0) break;
    add(std::string_view(piece).substr(0, got));
    added += got;
  }
  return added;
}

std::string Sha256::bytes() {
  std::string digest(kBytes, '\0');
  EVP_DigestFinal_ex(context_->handle.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return digest;
}

std::string Sha256::hexadecimal() {
  std::string text;
  for (const char byte : bytes())
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string sha256(std::string_view bytes) {
  Sha256 digest;
  digest.add(bytes);
  return digest.hexadecimal();
}

std::string sha256_of_file(const std::string& path, const std::stop_token& stop) {
  constexpr std::uint64_t kPiece = 64 << 20;
  RegularFile file(path);
  Sha256 digest;
  while (digest.add(file, kPiece) == kPiece && !stop.stop_requested()) {
  }
  return digest.hexadecimal();
}

}  // namespace multicard
