#include "prepare/images/CifarSource.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"
#include "data/shards/FileSets.hpp"
#include "io/Bytes.hpp"
#include "io/Glob.hpp"
namespace multicard {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPlane = 32 * 32, kPixelBytes = 3 * kPlane;

std::int64_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error) throw DataError(fmt::format("{} cannot be read", path), error.message());
  return static_cast<std::int64_t>(size);
}

/// 1 for CIFAR-10, 2 for CIFAR-100. The files have no header: only their size shows the kind. 3073 and 3074 have no
/// common divisor, so that a whole number of records of both kinds would take 3073 x 3074 bytes, which is 3074 images
/// of CIFAR-10; real files hold 10,000 or 50,000.
std::int64_t find_label_bytes(const std::string& path) {
  const std::int64_t size = size_of(path);
  for (const std::int64_t label_bytes : {1, 2})
    if (size > 0 && size % (label_bytes + kPixelBytes) == 0) return label_bytes;
  throw DataError(
      fmt::format("{} is not a CIFAR file, or it is truncated", path),
      fmt::format("its {} bytes are not a multiple of the {} (CIFAR-10) or {} (CIFAR-100) bytes of a record", size,
                  1 + kPixelBytes, 2 + kPixelBytes));
}

/// Empty when there is no such file.
std::vector<std::string> read_names(const fs::path& path) {
  if (!fs::exists(path)) return {};
  std::vector<std::string> names;
  std::string text = read_file(path.string());
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  for (std::string name : split(text, '\n')) {
    if (name.ends_with('\r')) name.pop_back();
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

std::vector<std::string> names_next_to(const std::string& file, std::int64_t label_bytes) {
  const std::size_t num_classes = label_bytes == 1 ? 10 : 100;
  const fs::path path = fs::path(file).parent_path() / (label_bytes == 1 ? "batches.meta.txt" : "fine_label_names.txt");
  std::vector<std::string> names = read_names(path);
  if (names.size() == num_classes) return names;
  if (!names.empty())
    throw DataError(fmt::format("{} has {} names", path.string(), names.size()),
                    fmt::format("there are {} classes", num_classes),
                    "Correct the file, or remove it to call them 0, 1, ...");
  for (std::size_t label = 0; label < num_classes; ++label)
    names.push_back(std::to_string(label));
  return names;
}

/// Files of CIFAR's version for Python. A pickle is a program for Python's virtual machine; reading one from an
/// untrusted file would run it.
constexpr const char* kPickles[] = {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5",
                                    "test_batch",   "train",        "test",         "batches.meta", "meta"};

[[noreturn]] void refuse_pickle(const std::string& path) {
  throw DataError(fmt::format("{} is of CIFAR's version for Python", path), "pickles are not read",
                  "Use the binary version, whose files are called *.bin.");
}

}  // namespace

// All labels are read at once, which is a pass over all files: records are so small that seeking over the pixels would
// cost more than reading them.
CifarSource::CifarSource(const std::vector<std::string>& files) {
  label_bytes_ = find_label_bytes(files.front());
  const std::int64_t record = label_bytes_ + kPixelBytes;
  RowCopies copies;
  for (const std::string& path : files) {
    const std::int64_t bytes = size_of(path);
    if (bytes == 0) throw DataError(path + " is empty", "", "Fetch it again, or remove it.");
    if (bytes % record != 0)
      throw DataError(fmt::format("{} does not fit {}, or it is truncated", path, files.front()),
                      fmt::format("its {} bytes are not a multiple of the {} bytes of a record", bytes, record));
    files_.push_back({std::make_unique<SeekableInput>(path), size(), bytes / record});
    read_labels(files_.back());
    const std::span<const std::uint8_t> labels(labels_);
    const auto size = static_cast<std::size_t>(record);
    std::vector<std::uint8_t> ends(2 * size);
    files_.back().input->read(0, std::span(ends).first(size));
    files_.back().input->read(static_cast<std::uint64_t>(bytes - record), std::span(ends).last(size));
    copies.add(path, labels.subspan(static_cast<std::size_t>(files_.back().first)),
               {reinterpret_cast<const char*>(ends.data()), ends.size()});
  }
  class_names_ = names_next_to(files.front(), label_bytes_);
}

void CifarSource::read_labels(const File& file) {
  constexpr std::int64_t kRecordsAtOnce = 1000;
  const std::int64_t record = label_bytes_ + kPixelBytes;
  std::vector<std::uint8_t> records;
  for (std::int64_t first = 0; first < file.count; first += kRecordsAtOnce) {
    const std::int64_t count = std::min(kRecordsAtOnce, file.count - first);
    records.resize(static_cast<std::size_t>(count * record));
    file.input->read(static_cast<std::uint64_t>(first * record), records);
    for (std::int64_t i = 0; i < count; ++i)
      labels_.push_back(records[static_cast<std::size_t>(i * record + label_bytes_ - 1)]);
  }
}

const CifarSource::File& CifarSource::file_of(std::int64_t index) const {
  const auto after = std::upper_bound(files_.begin(), files_.end(), index,
                                      [](std::int64_t wanted, const File& file) { return wanted < file.first; });
  return *(after - 1);
}

std::string CifarSource::name_of(std::int64_t index) const {
  const File& file = file_of(index);
  return fmt::format("record {} of {}", index - file.first, file.input->path());
}

Image CifarSource::read(std::int64_t index) const {
  const File& file = file_of(index);
  // Whole records, so that one read begins where the last ended.
  std::vector<std::uint8_t> record(static_cast<std::size_t>(label_bytes_ + kPixelBytes));
  file.input->read(static_cast<std::uint64_t>(index - file.first) * record.size(), record);
  const std::uint8_t* planes = record.data() + label_bytes_;
  Image image{kShape, std::vector<std::uint8_t>(kPixelBytes)};
  for (std::size_t i = 0; i < kPixelBytes; ++i)
    // From planes (all red, all green, all blue) to pixels of three bytes.
    image.pixels[i] = planes[i % 3 * kPlane + i / 3];
  return image;
}

std::string CifarSource::description() const {
  return fmt::format("cifar-{} ({})", label_bytes_ == 1 ? 10 : 100, counted(files_.size(), "file"));
}

std::vector<SourceFile> CifarSource::files(const std::vector<std::int64_t>&) const {
  std::vector<SourceFile> found;
  for (const File& file : files_)
    found.push_back({file.input->path(), fs::path(file.input->path()).filename().string()});
  return found;
}

std::vector<std::string> cifar_files(const std::string& folder, const std::string& pattern) {
  if (pattern.empty())
    for (const char* name : kPickles)
      if (const std::string path = folder + "/" + name; fs::is_regular_file(path)) refuse_pickle(path);
  const std::string meant = pattern.empty() ? folder + "/*.bin" : pattern;
  std::vector<std::string> files = expand_glob(meant);
  for (const std::string& path : files)
    if (std::ranges::find(kPickles, fs::path(path).filename().string()) != std::end(kPickles)) refuse_pickle(path);
  const auto is_test = [](const std::string& path) { return fs::path(path).filename().string().starts_with("test"); };
  // data_batch_*.bin and train.bin are training data, test_batch.bin and test.bin test data, and one glob easily takes
  // both.
  const auto first_test =
      std::stable_partition(files.begin(), files.end(), [&](const auto& path) { return !is_test(path); });
  if (first_test != files.begin() && first_test != files.end())
    throw DataError(fmt::format("{} names training and test files", meant), "they belong in different shards",
                    fmt::format("Name some of them, e.g. --images '{}'.", files.front()));
  return files;
}

}  // namespace multicard
