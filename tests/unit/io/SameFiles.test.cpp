// Files of equal contents are equal byte by byte, whenever they are made.

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "io/Hdf5.hpp"
#include "io/Sha256.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

void write_example(const std::string& path) {
  Hdf5File file = Hdf5File::create(path, world());
  const std::vector<std::uint32_t> values{1, 2, 3};
  for (const char* name : {"tokens", "chosen/tokens", "deep/er/tokens"})
    file.create_dataset<std::uint32_t>(name, {3}).write<std::uint32_t>({0}, {values.size()}, values);
  file.create_group("empty/group");
  file.write_texts("names", {"a", "bc"});
  file.write_attribute("/", "count", std::int64_t{3});
  file.close();
}

TEST(SameFiles, OfEqualContentsAreEqualWheneverTheyAreMade) {
  const ScratchFolder folder;
  const std::string first = (folder.path() / "first.h5").string(), second = (folder.path() / "second.h5").string();
  write_example(first);
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // HDF5 would store seconds
  write_example(second);
  world().barrier();
  EXPECT_EQ(sha256_of_file(first), sha256_of_file(second));
}

}  // namespace
}  // namespace multicard
