// Images and labels of MNIST's format, plain or gzipped. The first two bytes of an input are the size of the label
// file, which follows; the rest is the image file.
#include <algorithm>

#include "fuzz/Target.hpp"
#include "prepare/images/IdxSource.hpp"

namespace multicard::fuzz {

const std::vector<ExitCode> kDocumentedCodes{ExitCode::data};

void read(std::string_view input) {
  if (input.size() < 2) return;
  const auto size = static_cast<std::size_t>(static_cast<unsigned char>(input[0]) << 8) +
                    static_cast<std::size_t>(static_cast<unsigned char>(input[1]));
  const std::string_view labels = input.substr(2, size), images = input.substr(2 + labels.size());
  const IdxSource source(scratch_file("images", images), scratch_file("labels", labels));
  source.class_names();
  for (std::int64_t i = 0; i < std::min<std::int64_t>(source.size(), 64); ++i) {
    require(source.label(i) >= 0 && source.label(i) < 256, "a label is not a byte");
    const Image image = source.read(i);
    require(static_cast<std::int64_t>(image.pixels.size()) == source.shape_of(i).num_bytes(),
            "an image has another number of bytes than its shape");
  }
}

}  // namespace multicard::fuzz
