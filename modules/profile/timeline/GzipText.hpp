#pragma once
/// \file Text that is compressed while it is written.

#include <memory>
#include <string>
#include <string_view>

struct libdeflate_compressor;

namespace multicard {

/// Packs text as gzip members of about 1 MiB of text each. Members in a row are one file, so that files of
/// several writers can be joined. Each has `comment` in its header, by which a program knows its own files.
class GzipText {
 public:
  explicit GzipText(std::string comment);

  /// To be appended to; call flush() now and then.
  std::string& text() { return text_; }
  /// Packs the text if there is enough of it.
  void flush() {
    if (text_.size() >= kMemberBytes) pack();
  }
  /// Everything, packed.
  std::string take();

 private:
  static constexpr std::size_t kMemberBytes = std::size_t{1} << 20;
  struct Free {
    void operator()(libdeflate_compressor* compressor) const;
  };

  void pack();

  std::string comment_, text_, packed_;
  std::unique_ptr<libdeflate_compressor, Free> compressor_;
};

}  // namespace multicard
