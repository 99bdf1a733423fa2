#include "tasks/MemoryNeed.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"

namespace multicard {
namespace {

const MemoryNeed kNeed{9'000'000, 9'000'000, 9'000'000, 980'000'000, 40'000'000};

TEST(MemoryNeed, NamesItsParts) {
  EXPECT_EQ(kNeed.text(),
            "1.05 GB a rank (weights 9 MB, gradients 9 MB, optimizer 9 MB, activations 980 MB, loader 40 MB)");
  EXPECT_EQ(kNeed.total() - kNeed.on_device(), 40'000'000);
}

TEST(MemoryNeed, RefusesWhatDoesNotFit) {
  EXPECT_NO_THROW(check_memory(kNeed, 100, 100));
  EXPECT_THROW(check_memory(kNeed, 101, 100), EnvironmentError);
}

}  // namespace
}  // namespace multicard
