// The program without libparquet, whichever this build has: its source file stands for the one in the library.
#include <gtest/gtest.h>

#include "io/ParquetFile_disabled.cpp"

namespace multicard {
namespace {

TEST(ParquetMissing, NamesTheOptionThatInstallsIt) {
  EXPECT_FALSE(ParquetFile::is_supported());
  try {
    ParquetFile file("some rows.parquet");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DataError& error) {
    EXPECT_NE(error.suggestion().find("scripts/setup.sh --parquet"), std::string::npos);
    EXPECT_NE(error.suggestion().find("'some rows.parquet' NEW.jsonl"), std::string::npos) << error.suggestion();
  }
}

}  // namespace
}  // namespace multicard
