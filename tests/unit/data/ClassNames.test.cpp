// Labels of a set are mapped by the names of their classes, or the set is refused.
#include "data/shards/ClassNames.hpp"

#include <gtest/gtest.h>

#include "unit/data/expect_data_error.hpp"

namespace multicard {
namespace {

using Labels = std::vector<std::int32_t>;

TEST(ClassNames, BecomeATextAndBack) {
  const std::vector<std::string> names{"cat", "a, \"b\"\n", "", "\xc3\xa9"};

  EXPECT_EQ(text_of_classes({"cat", "dog"}), R"(["cat","dog"])");
  EXPECT_EQ(classes_of_text(text_of_classes(names)), names);
  EXPECT_TRUE(classes_of_text("{}").empty());
  EXPECT_TRUE(classes_of_text("cat").empty());
}

TEST(DigestOfLabels, IsThatOfTheirBytes) {
  // hashlib.sha256(struct.pack("<3i", 2, 0, 258)) of Python
  EXPECT_EQ(digest_of_labels(Labels{2, 0, 258}), "68729329b2b903ebd568a8c4f72bd8a249f2b362d5e58048b921f4e84af7963e");
}

TEST(MapLabels, GivesEveryNameItsPlace) {
  Labels labels{0, 1, 1, 0};

  map_labels(labels, {"dog", "cat"}, {"bird", "cat", "dog"}, "set.h5");

  EXPECT_EQ(labels, (Labels{2, 1, 1, 2}));
}

TEST(MapLabels, RefusesImagesOfUnknownClasses) {
  Labels labels{0, 1};

  test::expect_data_error(
      [&] {
        map_labels(labels, {"dog", "cow"}, {"cat", "dog"}, "set.h5");
      },
      "set.h5 has images of classes that the model does not know: cow (it was trained on cat, dog)");
}

TEST(MapLabels, AllowsUnknownClassesWithoutImages) {
  Labels labels{1, 1};

  map_labels(labels, {"cow", "dog"}, {"cat", "dog"}, "set.h5");

  EXPECT_EQ(labels, (Labels{1, 1}));
}

TEST(MapLabels, RefusesANameThatTwoClassesHave) {
  Labels labels{0};

  test::expect_data_error([&] { map_labels(labels, {"dog"}, {"dog", "dog"}, "set.h5"); }, "does not know: dog");
}

}  // namespace
}  // namespace multicard
