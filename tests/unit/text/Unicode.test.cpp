#include "text/unicode/Unicode.hpp"

#include <gtest/gtest.h>

#include "base/Utf8.hpp"
#include "text/jinja/PythonText.hpp"
#include "text/unicode/ByteAlphabet.hpp"

namespace multicard {
namespace {

TEST(Utf8, EveryCharacterComesBack) {
  for (char32_t character = 0; character <= 0x10FFFF; ++character) {
    if (character >= 0xD800 && character <= 0xDFFF) continue;
    std::string text;
    append_utf8(text, character);
    std::size_t at = 0;
    ASSERT_TRUE(is_valid_utf8(text)) << std::hex << static_cast<std::uint32_t>(character);
    ASSERT_EQ(utf8_length(text[0]), text.size());
    ASSERT_EQ(next_character(text, at), character);
    ASSERT_EQ(at, text.size());
  }
}

TEST(Utf8, BrokenTextIsFoundAnywhere) {
  for (std::size_t at = 0; at < 40; ++at) {
    std::string text(40, 'a');
    EXPECT_TRUE(is_valid_utf8(text));
    text[at] = '\x80';
    EXPECT_FALSE(is_valid_utf8(text)) << at;
    EXPECT_EQ(repaired_utf8(text).size(), 42u);
  }
}

TEST(Utf8, TrimsAsPythonDoes) {
  EXPECT_EQ(python_strip("\u2003 \x1c a b\u00a0\n"), "a b");
  EXPECT_EQ(python_strip(" \t\u3000"), "");
  EXPECT_EQ(python_strip("\u200ba"), "\u200ba");
}

TEST(ByteAlphabet, IsOneToOne) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte)
    bytes += static_cast<char>(byte);
  EXPECT_EQ(bytes_of_visible(visible_bytes(bytes)), bytes);
  EXPECT_EQ(visible_bytes(" a\n"), "ĠaĊ");
  EXPECT_FALSE(bytes_of_visible("a b"));
  EXPECT_FALSE(bytes_of_visible("中"));
}

TEST(NormalForms, OrderMarksInTimeInProportion) {
  std::string marks = "a";
  for (int i = 0; i < 200000; ++i)
    marks += i % 2 ? "\u0301" : "\u0316";  // above, below, above ...
  const std::string sorted = normalized(marks, NormalForm::nfd);
  EXPECT_TRUE(sorted.starts_with("a\u0316\u0316"));
  EXPECT_TRUE(sorted.ends_with("\u0301\u0301"));
  EXPECT_TRUE(normalized(marks, NormalForm::nfc).starts_with("\u00e1\u0316\u0316"));
}

TEST(NormalForms, AreThoseOfTheLibrarysUnicode) {
  // U+07FD is a mark of Unicode 11, U+11938 has parts since 13: the library knows neither.
  EXPECT_EQ(normalized("\u01c5\u07fd", NormalForm::nfkd), "Dz\u030c\u07fd");
  EXPECT_EQ(normalized("a\u07fd\u0301", NormalForm::nfc), "a\u07fd\u0301");
  EXPECT_EQ(normalized("a\u0323\u0301\u07fd", NormalForm::nfc), "\u1ea1\u0301\u07fd");
  EXPECT_EQ(normalized("\U00011935\U00011930", NormalForm::nfc), "\U00011935\U00011930");
  EXPECT_EQ(normalized("\U00011938e\u0301", NormalForm::nfd), "\U00011938e\u0301");
  EXPECT_EQ(normalized("\U00011938e\u0301", NormalForm::nfc), "\U00011938\u00e9");
  EXPECT_EQ(without_marks("a\u0301\u07fd"), "a\u07fd");
}

TEST(Classes, AreThoseOfTheLibrarysUnicode) {
  EXPECT_EQ(lower_case("\U00010d50\u1c89A"), "\U00010d70\u1c8aa");  // of Unicode 16
  EXPECT_TRUE(is_numeric(0x1ccf0));                                 // likewise
  EXPECT_TRUE(is_punctuation(U'$'));
  EXPECT_TRUE(is_punctuation(0x2e42));
  EXPECT_FALSE(is_punctuation(0x2e43));  // of Unicode 9
}

TEST(Marks, OfAllThreeCategoriesAreLeftOut) {
  EXPECT_EQ(without_marks("e\u0301x\u0903y\u20ddz"), "exyz");
}

}  // namespace
}  // namespace multicard
