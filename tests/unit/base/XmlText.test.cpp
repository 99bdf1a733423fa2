#include "base/XmlText.hpp"

#include <gtest/gtest.h>

namespace multicard {
namespace {

TEST(XmlText, MarkupBecomesEntities) {
  EXPECT_EQ(escaped("<b a=\"1\">&'\x01"), "&lt;b a=&quot;1&quot;&gt;&amp;&#39; ");
}

}  // namespace
}  // namespace multicard
