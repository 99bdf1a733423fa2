// A program of its own, because HDF5 reads its locking variable once.
#include <cstdlib>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/Error.hpp"
#include "io/Hdf5.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

const bool kIsLockingOn = setenv("HDF5_USE_FILE_LOCKING", "TRUE", 1) == 0;

TEST(FileLock, OfAnotherProgramNamesTheVariableThatHelps) {
  ASSERT_TRUE(kIsLockingOn);
  const test::ScratchFolder scratch;
  Hdf5File::create(scratch / "x.h5").close();
  const int descriptor = open((scratch / "x.h5").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(descriptor, LOCK_EX), 0);

  std::string text;
  try {
    Hdf5File::open_read(scratch / "x.h5");
  } catch (const DataError& error) {
    text = error.what();
  }
  close(descriptor);

  EXPECT_NE(text.find("x.h5: opening failed (Resource temporarily unavailable) Set HDF5_USE_FILE_LOCKING=FALSE"),
            std::string::npos)
      << text;
  EXPECT_NO_THROW(Hdf5File::open_read(scratch / "x.h5"));
}

}  // namespace
}  // namespace multicard
