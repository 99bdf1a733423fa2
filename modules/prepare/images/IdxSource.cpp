#include "prepare/images/IdxSource.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "prepare/images/ImageCodec.hpp"
#include "prepare/images/ImageFormats.hpp"

namespace multicard {

namespace {

// The magic number is two zero bytes, the type of the elements (8: unsigned bytes) and the number of dimensions.
constexpr std::uint32_t kImageMagic = 0x00000803, kLabelMagic = 0x00000801;
constexpr std::uint64_t kImageHeaderBytes = 16, kLabelHeaderBytes = 8;

template <std::size_t Count>
std::array<std::uint32_t, Count> read_numbers(SeekableInput& input) {
  std::array<std::uint8_t, 4 * Count> bytes;
  input.read(0, bytes);
  std::array<std::uint32_t, Count> numbers{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    // Big-endian, whatever the machine.
    numbers[i / 4] = numbers[i / 4] << 8 | bytes[i];
  return numbers;
}

void check_magic(const std::string& path, std::uint32_t found, std::uint32_t wanted, const char* content) {
  if (found == wanted) return;
  const bool exchanged = found == kImageMagic || found == kLabelMagic;
  const ForeignKey* type = find_idx_type(found);
  throw DataError(fmt::format("{} is not an IDX file of {}", path, content),
                  fmt::format("it starts with 0x{:08x} instead of 0x{:08x}{}", found, wanted,
                              !type || exchanged ? ""
                                                 : fmt::format(": {} dimensions of {}", found & 0xff,
                                                               type->use == KeyUse::used ? "bytes" : type->note)),
                  exchanged ? "Swap --images and --labels." : "");
}

/// Memory grows with what is there, not with what a header promises.
std::vector<std::uint8_t> read_bytes(SeekableInput& input, std::uint64_t offset, std::size_t count) {
  constexpr std::size_t kPiece = 1 << 20;
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < count) {
    const std::size_t begin = bytes.size();
    bytes.resize(std::min(count, begin + kPiece));
    input.read(offset + begin, std::span(bytes).subspan(begin));
  }
  return bytes;
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

}  // namespace

IdxSource::IdxSource(const std::string& images, const std::string& labels)
    : images_(std::make_unique<SeekableInput>(images)), labels_path_(labels) {
  // The magic numbers first: a file of the wrong kind may be shorter than the header looked for.
  check_magic(images, read_numbers<1>(*images_)[0], kImageMagic, "images");
  const auto [magic, count, rows, columns] = read_numbers<4>(*images_);
  SeekableInput label_input(labels);
  check_magic(labels, read_numbers<1>(label_input)[0], kLabelMagic, "labels");
  const auto num_labels = read_numbers<2>(label_input)[1];
  if (num_labels != count)
    throw DataError(fmt::format("{} and {} do not match", images, labels),
                    fmt::format("{} images and {} labels", count, num_labels));
  check_picture_size(images, rows, columns);
  shape_ = {rows, columns, 1};
  labels_ = read_bytes(label_input, kLabelHeaderBytes, count);
  label_input.expect_end(kLabelHeaderBytes + count);
}

std::string IdxSource::name_of(std::int64_t index) const {
  return fmt::format("image {} of {}", index, images_->path());
}

Image IdxSource::read(std::int64_t index) const {
  Image image{shape_, std::vector<std::uint8_t>(static_cast<std::size_t>(shape_.num_bytes()))};
  const std::uint64_t bytes = image.pixels.size();
  const std::uint64_t offset = kImageHeaderBytes + static_cast<std::uint64_t>(index) * bytes;
  images_->read(offset, image.pixels);
  // What follows the last image is checked when that is read: in a gzip file the end is only known after decompressing
  // all.
  if (index + 1 == size()) images_->expect_end(offset + bytes);
  return image;
}

std::vector<std::string> IdxSource::class_names() const {
  const auto largest = std::max_element(labels_.begin(), labels_.end());
  std::vector<std::string> names;
  for (int label = 0; largest != labels_.end() && label <= *largest; ++label)
    names.push_back(std::to_string(label));
  return names;
}

std::string IdxSource::description() const {
  return fmt::format("idx {} {}", file_name(images_->path()), file_name(labels_path_));
}

std::vector<SourceFile> IdxSource::files(const std::vector<std::int64_t>&) const {
  return {{images_->path(), file_name(images_->path())}, {labels_path_, file_name(labels_path_)}};
}

}  // namespace multicard
