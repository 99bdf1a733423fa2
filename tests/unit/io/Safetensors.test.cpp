#include "io/Safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "io/Bytes.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

std::string with_header(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string prefix(8, '\0');
  std::memcpy(prefix.data(), &length, 8);
  return prefix + header + data;
}

/// The DataError of opening a file with these bytes.
std::string refusal(const ScratchFolder& scratch, const std::string& bytes) {
  write_file(scratch / "x.safetensors", bytes);
  try {
    const SafetensorsFile file(scratch / "x.safetensors");
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("x.safetensors"), std::string::npos);
    return error.what();
  }
  return "nothing was thrown";
}

#define EXPECT_REFUSED(bytes, part) \
  EXPECT_NE(refusal(scratch, bytes).find(part), std::string::npos) << refusal(scratch, bytes)

TEST(Safetensors, KeepTensorsAndMetadata) {
  const ScratchFolder scratch;
  std::vector<float> weight(6);
  std::iota(weight.begin(), weight.end(), 0.5F);
  const std::vector<std::int64_t> count{1'000'000'007};
  const std::vector<std::uint8_t> flags{1, 0, 1};
  const std::vector<SafetensorsEntry> entries{{"b.weight", "F32", {2, 3}, bytes_of(weight)},
                                              {"a.flags", "BOOL", {3}, bytes_of(flags)},
                                              {"größe", "I64", {}, bytes_of(count)},
                                              {"none", "BF16", {0, 4}, {}}};

  write_safetensors(scratch / "x.safetensors", entries, {{"format", "pt"}, {"note", "\"quoted\""}});

  const SafetensorsFile file(scratch / "x.safetensors");
  ASSERT_EQ(file.entries().size(), 4U);
  for (const SafetensorsEntry& entry : entries) {
    const SafetensorsEntry& found = file.at(entry.name);
    EXPECT_EQ(found.dtype, entry.dtype);
    EXPECT_EQ(found.shape, entry.shape);
    EXPECT_TRUE(std::equal(found.bytes.begin(), found.bytes.end(), entry.bytes.begin(), entry.bytes.end()));
    const std::size_t alignment = reinterpret_cast<std::uintptr_t>(found.bytes.data());
    EXPECT_EQ(alignment % safetensors_element_bytes(entry.dtype), 0U) << entry.name;
  }
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"format", "pt"}, {"note", "\"quoted\""}}));
  EXPECT_EQ(file.find("absent"), nullptr);
}

TEST(Safetensors, AreWrittenAlikeInAnyOrder) {
  const ScratchFolder scratch;
  const std::vector<float> one{1, 2}, two{3};
  std::vector<SafetensorsEntry> entries{{"one", "F32", {2}, bytes_of(one)}, {"two", "F32", {1}, bytes_of(two)}};

  write_safetensors(scratch / "a", entries);
  std::swap(entries[0], entries[1]);
  write_safetensors(scratch / "b", entries);

  EXPECT_EQ(read_file(scratch / "a"), read_file(scratch / "b"));
}

TEST(Safetensors, KeepTheirBytesAsLongAsTheMappingIsHeld) {
  const ScratchFolder scratch;
  const std::vector<float> one{1, 2};
  const SafetensorsEntry entry{"one", "F32", {2}, bytes_of(one)};
  write_safetensors(scratch / "a", {&entry, 1});
  std::shared_ptr<const void> mapping;
  std::span<const std::byte> bytes;
  {
    const SafetensorsFile file(scratch / "a");
    mapping = file.mapping();
    bytes = file.at("one").bytes;
  }

  EXPECT_EQ(std::memcmp(bytes.data(), one.data(), bytes.size()), 0);
}

TEST(Safetensors, NameTheNearestTensorOfAMissingOne) {
  const ScratchFolder scratch;
  const std::vector<float> one{1};
  const SafetensorsEntry entry{"features.0.weight", "F32", {1}, bytes_of(one)};
  write_safetensors(scratch / "a", {&entry, 1});
  const SafetensorsFile file(scratch / "a");

  try {
    file.at("feature.0.weight");
    FAIL() << "nothing was thrown";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("the nearest is features.0.weight"), std::string::npos) << error.what();
  }
}

TEST(Safetensors, ThatCannotBeWrittenAreRefused) {
  const ScratchFolder scratch;
  const std::vector<float> one{1, 2};
  const auto refuses = [&](const std::vector<SafetensorsEntry>& entries) {
    EXPECT_THROW(write_safetensors(scratch / "x", entries), DataError);
  };
  const SafetensorsEntry good{"one", "F32", {2}, bytes_of(one)};

  refuses({good, good});
  refuses({{"one", "F32", {3}, bytes_of(one)}});
  refuses({{"one", "F33", {2}, bytes_of(one)}});
  refuses({{"one", "F32", {-2}, bytes_of(one)}});
  refuses({{"__metadata__", "F32", {2}, bytes_of(one)}});
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

TEST(Safetensors, WithHostileLengthsAreRefused) {
  const ScratchFolder scratch;
  const std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string data(8, 'x');

  EXPECT_NE(refusal(scratch, "").find("it is empty"), std::string::npos);
  EXPECT_REFUSED("abc", "it has only 3 bytes");
  EXPECT_REFUSED(std::string(8, '\xff'), "a header of 18446744073709551615 bytes in a file of 8");
  EXPECT_REFUSED(with_header(header, data).substr(0, 30), "a header of");
  EXPECT_REFUSED(with_header(header, data.substr(1)), "the file is truncated");
  EXPECT_REFUSED(with_header(header, data + "y"), "bytes follow the last tensor");
  EXPECT_EQ(refusal(scratch, with_header(header, data)), "nothing was thrown");
  EXPECT_EQ(refusal(scratch, with_header(header + "   ", data)), "nothing was thrown");
  EXPECT_EQ(refusal(scratch, with_header("{}", "")), "nothing was thrown");
}

TEST(Safetensors, FilesOfTorchSaveAreNamed) {
  const ScratchFolder scratch;
  EXPECT_REFUSED("PK\3\4 and the rest of a ZIP archive", "it is a file of torch.save");
  EXPECT_REFUSED("\x80\x02\x8a\nl\xfc\x9c and the rest of a pickle", "it is a file of torch.save");
  const std::string name(512, 'n');  // header of 0x0280 bytes: its length begins 80 02, as a pickle does
  std::string header = R"({")" + name + R"(":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  header.resize(0x280, ' ');
  EXPECT_EQ(refusal(scratch, with_header(header, std::string(8, 'x'))), "nothing was thrown");
}

TEST(Safetensors, WithHostileHeadersAreRefused) {
  const ScratchFolder scratch;
  const std::string data(8, 'x');
  const auto entry = [&](const std::string& name, const std::string& shape, const std::string& offsets,
                         const std::string& dtype = "F32") {
    return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
  };
  const auto file = [&](const std::string& inside) { return with_header("{" + inside + "}", data); };

  EXPECT_REFUSED(with_header("[]", ""), "not a JSON object");
  EXPECT_REFUSED(with_header("{\"w\":", ""), "not JSON");
  EXPECT_REFUSED(with_header(std::string(100'000, '['), ""), "nested more than 100 deep");
  EXPECT_REFUSED(file("\"w\":7"), "tensor w");
  EXPECT_REFUSED(file("\"w\":{}"), "tensor w");
  EXPECT_REFUSED(file(entry("w", "[2]", "[0,8]", "F31")), "dtype F31 is unknown");
  EXPECT_REFUSED(file(entry("w", "[3]", "[0,8]")), "do not fit");
  EXPECT_REFUSED(file(entry("w", "[-2]", "[0,8]")), "not a count");
  EXPECT_REFUSED(file(entry("w", "[2.0]", "[0,8]")), "not a count");
  EXPECT_REFUSED(file(entry("w", "[4611686018427387904,4]", "[0,8]")), "do not fit");
  EXPECT_REFUSED(file(entry("w", "[18446744073709551615]", "[0,8]")), "not a count");
  EXPECT_REFUSED(file(entry("w", "\"2\"", "[0,8]")), "not a list");
  EXPECT_REFUSED(file(entry("w", "[2]", "[8,0]")), "[begin, end]");
  EXPECT_REFUSED(file(entry("w", "[2]", "[0,8,8]")), "[begin, end]");
  EXPECT_REFUSED(file(entry("w", "[2]", "[8,16]")), "truncated");
  EXPECT_REFUSED(file(entry("a", "[2]", "[0,8]") + "," + entry("b", "[1]", "[4,8]")), "overlap");
  EXPECT_REFUSED(file(entry("a", "[1]", "[4,8]")), "hole");
  EXPECT_REFUSED(file(entry("a", "[1]", "[0,4]") + "," + entry("a", "[1]", "[4,8]")), "names a twice");
  EXPECT_REFUSED(file(entry("a", "[2]", "[0,8]") + R"(,"__metadata__":{"n":7})"), "metadata n is not text");
  EXPECT_EQ(refusal(scratch, file(entry("a", "[2]", "[0,8]") + R"(,"__metadata__":null)")), "nothing was thrown");
  EXPECT_REFUSED(file(entry("a", "[2]", "[0,8]") + R"(,"__metadata__":[])"), "metadata is not a JSON object");
  EXPECT_THROW(SafetensorsFile(scratch / "none"), DataError);
  EXPECT_THROW(SafetensorsFile(scratch.path().string()), DataError);
}

TEST(SafetensorsWriter, WritesTensorByTensorWhatIsWrittenAtOnce) {
  const ScratchFolder scratch;
  const std::vector<float> first{1, 2, 3, 4}, second{5};
  const std::vector<double> third{6, 7};
  const std::vector<SafetensorsEntry> entries{
      {"b", "F32", {2, 2}, bytes_of(first)}, {"a", "F32", {1}, bytes_of(second)}, {"c", "F64", {2}, bytes_of(third)}};
  write_safetensors(scratch / "whole.safetensors", entries);

  SafetensorsWriter writer(scratch / "x.safetensors", {{"b", "F32", {2, 2}}, {"a", "F32", {1}}, {"c", "F64", {2}}});
  ASSERT_EQ(writer.tensors()[0].name + writer.tensors()[1].name + writer.tensors()[2].name, "cab");
  writer.write(bytes_of(third));
  writer.write(bytes_of(second));
  EXPECT_FALSE(std::filesystem::exists(scratch / "x.safetensors"));
  writer.write(bytes_of(first));
  writer.commit();

  EXPECT_EQ(read_file(scratch / "x.safetensors"), read_file(scratch / "whole.safetensors"));
}

TEST(SafetensorsWriter, RefusesWhatWasNotAnnounced) {
  const ScratchFolder scratch;
  const std::vector<float> values{1, 2};
  const auto open = [&](std::vector<TensorHeader> tensors) {
    return SafetensorsWriter(scratch / "x.safetensors", std::move(tensors));
  };
  EXPECT_THROW(open({{"a", "F31", {2}}}), DataError);
  EXPECT_THROW(open({{"a", "F32", {-2}}}), DataError);
  EXPECT_THROW(open({{"a", "F32", {2}}, {"a", "F32", {2}}}), DataError);
  EXPECT_THROW(open({{"__metadata__", "F32", {2}}}), DataError);
  {
    SafetensorsWriter writer(scratch / "x.safetensors", {{"a", "F32", {2}}});
    EXPECT_THROW(writer.write(bytes_of(values).subspan(4)), DataError);
    EXPECT_THROW(writer.commit(), DataError);
    writer.write(bytes_of(values));
    EXPECT_THROW(writer.write(bytes_of(values)), DataError);
  }
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

}  // namespace
}  // namespace multicard
