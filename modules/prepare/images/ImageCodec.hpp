#pragma once
/// \file The interface that hides the picture libraries; for modules/prepare only.

#include <csetjmp>
#include <cstdio>
#include <memory>
#include <string>

#include "prepare/images/Image.hpp"

namespace multicard {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using PictureFile = std::unique_ptr<std::FILE, CloseFile>;

/// A picture whose head has been read.
class ImageDecoder {
 public:
  virtual ~ImageDecoder() = default;
  /// As decode() gives it.
  virtual ImageShape shape() const = 0;
  /// Once.
  virtual Image decode() = 0;
};

std::unique_ptr<ImageDecoder> make_jpeg_decoder(const std::string& path, PictureFile file);
std::unique_ptr<ImageDecoder> make_png_decoder(const std::string& path, PictureFile file);

/// The C libraries report errors by a call that must not return; it jumps back to `guarded` with a text.
struct LibraryError {
  std::jmp_buf jump;
  char text[256] = "";
};

[[noreturn]] void throw_damaged(const std::string& path, const char* why);

/// Runs `body`, which calls the library and must hold nothing that needs a destructor, because an error jumps over it.
template <class Body>
void guarded(const std::string& path, LibraryError& error, Body&& body) {
  if (setjmp(error.jump) != 0) throw_damaged(path, error.text);
  body();
}

/// \throws DataError for pictures too large to be meant.
void check_picture_size(const std::string& path, std::int64_t height, std::int64_t width);

}  // namespace multicard
