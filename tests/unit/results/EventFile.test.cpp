// Event files are read back by a reader of their own: TFRecord frames, then protocol buffer fields.
#include "results/EventFile.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "results/EventRecords.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

/// The payloads of a file of TFRecords; fails where a length, a checksum or the end is wrong.
std::vector<std::string> read_records(const std::string& path) {
  const std::string file = read_file(path);
  std::vector<std::string> payloads;
  std::string_view left = file;
  while (!left.empty()) {
    const std::uint64_t length = little_endian(left.substr(0, 8));
    EXPECT_EQ(little_endian(left.substr(8, 4)), tensorboard::masked_crc32c(left.substr(0, 8)));
    const std::string_view payload = left.substr(12, length);
    EXPECT_EQ(little_endian(left.substr(12 + length, 4)), tensorboard::masked_crc32c(payload));
    payloads.emplace_back(payload);
    left.remove_prefix(16 + length);
  }
  return payloads;
}

/// One field of a message: integers and fixed-width numbers as bits, others as bytes.
struct Field {
  int number = 0;
  std::uint64_t bits = 0;
  std::string bytes;
};

std::uint64_t take_varint(std::string_view& left) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(left.at(0));
    left.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

std::vector<Field> fields_of(std::string_view left) {
  std::vector<Field> fields;
  while (!left.empty()) {
    const std::uint64_t key = take_varint(left);
    Field field{static_cast<int>(key >> 3), 0, {}};
    const std::size_t fixed = (key & 7) == 1 ? 8 : (key & 7) == 5 ? 4 : 0;
    if ((key & 7) == 0) field.bits = take_varint(left);
    if (fixed > 0) field.bits = little_endian(left.substr(0, fixed));
    const std::size_t length = (key & 7) == 2 ? take_varint(left) : fixed;
    if ((key & 7) == 2) field.bytes = left.substr(0, length);
    left.remove_prefix(length);
    fields.push_back(field);
  }
  return fields;
}

/// The only field of this number; an empty one when there is none.
Field field(std::string_view message, int number) {
  for (const Field& found : fields_of(message))
    if (found.number == number) return found;
  return {};
}

struct Point {
  std::int64_t step;
  std::string tag;
  float value;
};

std::vector<Point> points_of(const std::vector<std::string>& events) {
  std::vector<Point> points;
  for (const std::string& event : events) {
    const std::string value = field(field(event, 5).bytes, 1).bytes;
    if (value.empty() || field(value, 2).number == 0) continue;
    points.push_back({static_cast<std::int64_t>(field(event, 2).bits), field(value, 1).bytes,
                      std::bit_cast<float>(static_cast<std::uint32_t>(field(value, 2).bits))});
  }
  return points;
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// RFC 3720, appendix B.4, and the check value of the polynomial.
TEST(EventRecords, ChecksumsAreTheKnownOnes) {
  std::string rising(32, '\0'), falling(32, '\0');
  for (int i = 0; i < 32; ++i) {
    rising[static_cast<std::size_t>(i)] = static_cast<char>(i);
    falling[static_cast<std::size_t>(i)] = static_cast<char>(31 - i);
  }
  EXPECT_EQ(tensorboard::crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(tensorboard::crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(tensorboard::crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(tensorboard::crc32c(falling), 0x113fdb5cu);
  EXPECT_EQ(tensorboard::crc32c("123456789"), 0xe3069283u);
}

/// The bytes that the tensorboard package gives for this event: time 1.5, step 300, tag "a", value 0.25.
TEST(EventRecords, EventsAreTheBytesOfTheirMessages) {
  const std::string event = tensorboard::scalar_event(1.5, 300, "a", 0.25f);

  EXPECT_EQ(event, std::string("\x09\0\0\0\0\0\0\xf8\x3f\x10\xac\x02\x2a\x0a\x0a\x08\x0a\x01"
                               "a\x15\0\0\x80\x3e",
                               24));
}

TEST(EventFile, HoldsWhatWasFlushedAlthoughStillOpen) {
  const ScratchFolder scratch;
  EventFile file(scratch / "tensorboard", 40, "task: image\nrun: {}\n");
  file.add("train_loss", 40, 2.5);
  file.add("images_per_s", 40, 208);
  file.add("eval_top5", 41, std::nan(""));
  file.flush();
  file.add("train_loss", 41, 2.25);

  const std::vector<std::string> files = files_in(scratch / "tensorboard");
  ASSERT_EQ(files.size(), 1u);
  const std::vector<std::string> events = read_records(files[0]);
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(field(events[0], 3).bytes, "brain.Event:2");
  EXPECT_EQ(field(events[1], 2).bits, 40u);
  EXPECT_EQ(field(field(events[1], 7).bytes, 1).bits, 1u) << "SessionLog.START";
  const std::string deck = field(field(events[2], 5).bytes, 1).bytes;
  EXPECT_EQ(field(deck, 1).bytes, "deck/text_summary");
  EXPECT_EQ(field(field(deck, 8).bytes, 8).bytes, "    task: image\n    run: {}\n    ");
  EXPECT_EQ(field(field(field(deck, 9).bytes, 1).bytes, 1).bytes, "text");
  const std::vector<Point> points = points_of(events);
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].tag, "train/loss");
  EXPECT_EQ(points[0].step, 40);
  EXPECT_EQ(points[0].value, 2.5f);
  EXPECT_EQ(points[1].tag, "speed/images_per_s");
  EXPECT_EQ(points[2].tag, "eval/top5");
  EXPECT_TRUE(std::isnan(points[2].value));
}

TEST(EventFile, AContinuedRunWritesAFileAfterTheOthers) {
  const ScratchFolder scratch;
  for (const std::int64_t first_step : {0, 8, 4})
    EventFile(scratch / "tensorboard", first_step, "");

  const std::vector<std::string> files = files_in(scratch / "tensorboard");
  ASSERT_EQ(files.size(), 3u);
  std::vector<std::uint64_t> first_steps;
  for (const std::string& path : files)
    first_steps.push_back(field(read_records(path).at(1), 2).bits);
  EXPECT_EQ(first_steps, (std::vector<std::uint64_t>{0, 8, 4}));
}

TEST(EventFile, TagsGroupTheMetrics) {
  EXPECT_EQ(EventFile::tag("train_loss"), "train/loss");
  EXPECT_EQ(EventFile::tag("learning_rate"), "train/learning_rate");
  EXPECT_EQ(EventFile::tag("eval_accuracy"), "eval/accuracy");
  EXPECT_EQ(EventFile::tag("step_s"), "speed/step_s");
  EXPECT_EQ(EventFile::tag("loss_scale"), "train/loss_scale");
}

}  // namespace
}  // namespace multicard
