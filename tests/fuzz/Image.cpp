// JPEG and PNG files.
#include "fuzz/Target.hpp"
#include "prepare/images/ImageFile.hpp"

namespace multicard::fuzz {

const std::vector<ExitCode> kDocumentedCodes{ExitCode::data};

void read(std::string_view input) {
  const std::string path = scratch_file("image", input);
  const ImageShape shape = shape_of_image_file(path);
  // Decoding takes time in proportion to the picture: a larger one is not a finding.
  if (shape.height * shape.width > 1 << 20) return;
  const Image image = read_image_file(path);
  require(image.shape == shape, "the shape in the head is not that of the picture");
  require(static_cast<std::int64_t>(image.pixels.size()) == shape.height * shape.width * shape.channels,
          "the picture has another number of bytes");
}

}  // namespace multicard::fuzz
