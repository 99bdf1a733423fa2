#include "io/Bytes.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "io/Sha256.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;

template <class Body>
std::string data_error_of(Body&& body) {
  try {
    body();
  } catch (const DataError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string some_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  for (std::size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<char>(i * i / 7);
  return bytes;
}

TEST(Bytes, AreReadAsTheyWereWritten) {
  const ScratchFolder scratch;
  const std::string bytes = some_bytes(100'003);

  write_file(scratch / "new/folder/x", bytes);
  write_file(scratch / "new/folder/empty", "");

  EXPECT_EQ(read_file(scratch / "new/folder/x"), bytes);
  EXPECT_EQ(read_file(scratch / "new/folder/empty"), "");
}

TEST(Bytes, OfFilesWithoutASizeAreRead) {
  EXPECT_TRUE(contains(read_file("/proc/self/status"), "VmRSS"));
}

TEST(Bytes, OfAMissingFileAreADataErrorThatNamesIt) {
  EXPECT_EQ(data_error_of([] { read_file("/no/such/file"); }),
            "/no/such/file cannot be read (No such file or directory)");
  EXPECT_TRUE(contains(data_error_of([] { sha256_of_file("/no/such/file"); }), "/no/such/file cannot be read"));
  EXPECT_TRUE(contains(data_error_of([] { read_file("/tmp"); }), "/tmp cannot be read"));
}

TEST(Sha256, IsTheOneOfTheStandard) {
  const ScratchFolder scratch;
  write_file(scratch / "abc", "abc");
  const std::string large = some_bytes(3'000'000);
  write_file(scratch / "large", large);

  // FIPS 180-2, appendix B.1
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_of_file(scratch / "abc"), sha256("abc"));
  EXPECT_EQ(sha256_of_file(scratch / "large"), sha256(large));
}

TEST(OutputFile, ReportsThatADeviceIsFull) {
  const std::string error = data_error_of([] {
    OutputFile file("/dev/full");
    file.write(std::string(10'000, 'x'));
    file.close();
  });

  EXPECT_EQ(error, "/dev/full cannot be written (No space left on device) Free some space or choose another folder.");
}

}  // namespace
}  // namespace multicard
