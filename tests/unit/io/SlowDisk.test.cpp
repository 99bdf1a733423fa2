// A disk that takes its time is not taken for a rank that has stopped. The two functions below stand before the C
// library's.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "comm/Watchdog.hpp"
#include "io/AtomicFile.hpp"
#include "io/Bytes.hpp"
#include "io/Hdf5.hpp"
#include "support/test_world.hpp"

namespace {

std::atomic<bool> g_is_slow = false;
constexpr std::chrono::milliseconds kSlow{1500};

void wait_if_slow(int descriptor) {
  std::error_code ignored;
  const std::string path =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), ignored).string();
  if (g_is_slow && path.find("slow") != std::string::npos) std::this_thread::sleep_for(kSlow);
}

}  // namespace

extern "C" int close(int descriptor) {
  wait_if_slow(descriptor);
  return static_cast<int>(syscall(SYS_close, descriptor));
}

extern "C" int fsync(int descriptor) {
  wait_if_slow(descriptor);
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

/// For its lifetime a collective must come back within half a second, and `rank` has a slow disk.
class SlowDisk {
 public:
  explicit SlowDisk(int rank) : before_(world().watchdog()->limit()) {
    world().barrier();
    world().watchdog()->set_limit(0.5);
    g_is_slow = world().rank() == rank;
  }
  ~SlowDisk() {
    g_is_slow = false;
    world().watchdog()->set_limit(before_);
  }
  SlowDisk(const SlowDisk&) = delete;
  SlowDisk& operator=(const SlowDisk&) = delete;

 private:
  double before_;
};

TEST(SlowDisk, OfAnyRankIsWaitedForWhenAFileIsClosed) {
  const ScratchFolder scratch;
  for (int rank = 0; rank < world().size(); ++rank) {
    Hdf5File file = Hdf5File::create(scratch / "slow.h5", world());
    file.write_values<double>("/x", {1, 2});
    const SlowDisk slow(rank);

    file.close();
  }
  EXPECT_EQ(Hdf5File::open_read(scratch / "slow.h5").read_values<double>("/x").size(), 2U);
}

TEST(SlowDisk, IsWaitedForWhenAFileGetsItsName) {
  const ScratchFolder scratch;
  PendingFile pending(scratch / "slow", world());
  if (world().is_root()) write_file(pending.path(), "whole");
  {
    const SlowDisk slow(0);

    pending.commit();
  }
  EXPECT_EQ(read_file(scratch / "slow"), "whole");
}

}  // namespace
}  // namespace multicard
