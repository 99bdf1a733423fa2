#include "io/Seal.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "io/Bytes.hpp"
#include "io/Hdf5.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

void write_plain(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(Seal, NoticesEveryChangedByteOfTheContent) {
  const test::ScratchFolder folder;
  const std::string path = folder / "x";
  write_file(path, "some content");
  seal(path);
  const std::string sealed = read_file(path);
  ASSERT_NO_THROW(check_seal(path));

  for (std::size_t at = 0; at < 12 + 32; ++at) {
    std::string damaged = sealed;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    write_plain(path, damaged);
    EXPECT_THROW(check_seal(path), DataError) << at;
  }
}

TEST(Seal, IsNotAskedOfOtherFiles) {
  const test::ScratchFolder folder;
  for (const std::string& bytes : {std::string(), std::string("short"), std::string(1000, 'x')}) {
    write_file(folder / "x", bytes);
    EXPECT_NO_THROW(check_seal(folder / "x")) << bytes.size();
  }
}

TEST(Seal, DoesNotDisturbReadersOfHdf5AndFallsOffWhenTheyWrite) {
  const test::ScratchFolder folder;
  const std::string path = folder / "x.h5";
  Hdf5File file = Hdf5File::create(path);
  file.write_attribute("/", "a", std::int64_t{7});
  file.close();
  seal(path);

  EXPECT_EQ(Hdf5File::open_read(path).attribute<std::int64_t>("/", "a"), 7);
  Hdf5File again = Hdf5File::open_update(path);
  again.write_attribute("/", "b", std::int64_t{8});
  again.close();
  EXPECT_NO_THROW(check_seal(path));
  EXPECT_EQ(Hdf5File::open_read(path).attribute<std::int64_t>("/", "b"), 8);
}

}  // namespace
}  // namespace multicard
