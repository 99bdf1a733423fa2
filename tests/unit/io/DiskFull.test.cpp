// What happens when the disk is full, on a tiny file system that the test mounts. That takes root; without it, and
// where mounting is forbidden, the tests are skipped and say so.
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/mount.h>

#include "base/Error.hpp"
#include "io/AtomicFile.hpp"
#include "io/Bytes.hpp"
#include "io/Hdf5.hpp"
#include "io/Safetensors.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

constexpr std::uint64_t kDiskBytes = 4 << 20;

class DiskFull : public testing::Test {
 protected:
  void SetUp() override {
    std::string error;
    if (world().is_root() && mount("tmpfs", scratch_.path().c_str(), "tmpfs", 0, "size=4m") != 0)
      error = std::strerror(errno);
    error = world().broadcast(error);
    is_mounted_ = error.empty();
    if (!is_mounted_) GTEST_SKIP() << "SKIPPED: no small file system could be mounted (" << error << "); run as root";
  }
  void TearDown() override {
    world().barrier();
    if (is_mounted_ && world().is_root()) umount2(scratch_.path().c_str(), MNT_DETACH);
  }

  /// The text of the error, which every rank must get with the exit code of data.
  template <class Body>
  std::string disk_error(Body&& body) {
    try {
      body();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::data) << error.what();
      return error.what();
    }
    return "nothing was thrown";
  }
  static bool says_full(const std::string& text) {
    return text.find("disk is full") != std::string::npos || text.find("No space left") != std::string::npos;
  }

  ScratchFolder scratch_;
  bool is_mounted_ = false;
};

TEST_F(DiskFull, IsADataErrorOfACollectiveWrite) {
  const std::uint64_t each = 2 * kDiskBytes;
  const std::vector<std::uint8_t> values(each, 1);

  const std::string error = disk_error([&] {
    PendingFile pending(scratch_ / "x.h5", world());
    Hdf5File file = Hdf5File::create(pending.path(), world());
    Hdf5Dataset dataset = file.create_dataset<std::uint8_t>("/x", {each * static_cast<std::uint64_t>(world().size())});
    dataset.write<std::uint8_t>({each * static_cast<std::uint64_t>(world().rank())}, {each}, values,
                                Transfer::collective);
    file.close();
    pending.commit();
  });

  EXPECT_TRUE(says_full(error)) << error;
}

TEST_F(DiskFull, IsADataErrorOfAnIndependentWrite) {
  const std::vector<std::uint8_t> values(2 * kDiskBytes, 1);
  const std::string error = disk_error([&] {
    Hdf5File file = Hdf5File::create(scratch_ / ("x" + std::to_string(world().rank()) + ".h5"));
    file.write_values<std::uint8_t>("/x", values);
    file.close();
  });

  EXPECT_TRUE(says_full(error)) << error;
}

TEST_F(DiskFull, IsADataErrorOfManySmallAttributes) {
  const std::string error = disk_error([&] {
    Hdf5File file = Hdf5File::create(scratch_ / "x.h5", world());
    for (int i = 0; i < 100; ++i)
      file.write_attribute("/", "a" + std::to_string(i), std::string(60'000, 'x'));
    file.close();
  });

  EXPECT_TRUE(says_full(error)) << error;
}

TEST_F(DiskFull, LeavesRoomForSmallFiles) {
  if (!world().is_root()) return;
  const std::string filler(kDiskBytes - (192 << 10), 'x');
  write_file(scratch_ / "filler", filler);

  Hdf5File file = Hdf5File::create(scratch_ / "x.h5");
  for (int i = 0; i < 40; ++i) {
    file.create_group("/g" + std::to_string(i));
    file.write_attribute("/g" + std::to_string(i), "a", std::string(100, 'x'));
  }
  file.create_dataset<double>("/values", {100}, Fill::zero);
  EXPECT_NO_THROW(file.close());
}

TEST_F(DiskFull, IsADataErrorOfPlainFiles) {
  if (!world().is_root()) return;
  const std::string bytes(2 * kDiskBytes, 'x');
  const SafetensorsEntry entry{"w", "U8", {static_cast<std::int64_t>(bytes.size())}, std::as_bytes(std::span(bytes))};

  const std::string plain = disk_error([&] { write_file(scratch_ / "x", bytes); });
  const std::string tensors = disk_error([&] { write_safetensors(scratch_ / "x.safetensors", {&entry, 1}); });

  EXPECT_TRUE(says_full(plain)) << plain;
  EXPECT_TRUE(says_full(tensors)) << tensors;
  EXPECT_TRUE(std::filesystem::is_empty(scratch_.path()));
}

}  // namespace
}  // namespace multicard
