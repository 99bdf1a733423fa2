#include "base/ReplaceFile.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

void replace_file(const std::string& path, const std::string& temporary, std::string_view bytes) {
  errno = 0;
  std::ofstream file(temporary, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  std::error_code failed(errno, std::generic_category());
  if (file) std::filesystem::rename(temporary, path, failed);
  if (file && !failed) return;
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  throw DataError(fmt::format("{} cannot be written", path), failed ? failed.message() : "");
}

}  // namespace multicard
