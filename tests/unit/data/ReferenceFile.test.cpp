#include "data/shards/ReferenceFile.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "data/shards/ShardNames.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

const std::string kKey(64, 'a'), kOther = kKey.substr(0, 63) + "b";

std::string complaint(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

class ReferenceFiles : public testing::Test {
 protected:
  ReferenceFiles() : path_(reference_path(scratch_ / "pairs-00000-of-00002.h5", kKey)) {
    values_ = {{-1.5F, -2.0F, std::numeric_limits<float>::quiet_NaN(), -4.0F, -5.0F}, {-6, -7, -8, -9, -10}};
    write_reference(path_, kKey, values_, world());
  }

  ScratchFolder scratch_;
  std::string path_;
  ReferenceLogProbs values_;
};

TEST_F(ReferenceFiles, GiveBackWhatAllRanksHaveWritten) {
  const ReferenceLogProbs found = read_reference(path_, kKey, 5);

  EXPECT_EQ(found.rejected, values_.rejected);
  EXPECT_EQ(found.chosen[4], -5);
  EXPECT_TRUE(std::isnan(found.chosen[2]));
}

TEST_F(ReferenceFiles, AreNamedForTheSetOfShards) {
  EXPECT_EQ(reference_path("data/a-00001-of-00004.h5", kKey), "data/a.ref-aaaaaaaaaaaaaaaa.h5");
  EXPECT_EQ(reference_path("a-b.h5", kKey), "a-b.ref-aaaaaaaaaaaaaaaa.h5");
  EXPECT_TRUE(is_reference_file(path_));
  EXPECT_FALSE(is_reference_file("data/a.ref-train.h5"));
}

TEST_F(ReferenceFiles, AreNoShards) {
  if (world().is_root()) std::ofstream(scratch_ / "pairs-00000-of-00001.h5") << "x";
  world().barrier();

  EXPECT_EQ(find_shards(scratch_ / "pairs*.h5", world()),
            (std::vector<std::string>{scratch_ / "pairs-00000-of-00001.h5"}));
  EXPECT_NE(complaint([&] { find_shards(scratch_ / "pairs.ref*.h5", world()); }).find("names no shards"),
            std::string::npos);
}

TEST_F(ReferenceFiles, AreRefusedWhenTheyBelongToSomethingElse) {
  EXPECT_NE(complaint([&] { read_reference(path_, kOther, 5); }).find("is stale"), std::string::npos);
  EXPECT_NE(complaint([&] { read_reference(path_, kKey, 6); }).find("float32 [6]"), std::string::npos);
}

TEST_F(ReferenceFiles, AreRefusedWhenTheyAreDamaged) {
  world().barrier();
  if (world().is_root()) {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-100, std::ios::end);
    file << 'X';
  }
  world().barrier();
  EXPECT_NE(complaint([&] { read_reference(path_, kKey, 5); }).find("damaged"), std::string::npos);
  world().barrier();

  if (world().is_root()) std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 60);
  world().barrier();
  const std::string said = complaint([&] { read_reference(path_, kKey, 5); });
  EXPECT_NE(said.find("is damaged (it is not whole) Remove it"), std::string::npos) << said;
}

}  // namespace
}  // namespace multicard
