#include "tasks/options/KeyHelp.hpp"

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "support/test_world.hpp"

namespace multicard {
namespace {

TEST(KeyHelp, TablesAreThoseOfTheDocuments) {
  std::ifstream in(test::source_path("docs/decks.md"));
  const std::string document{std::istreambuf_iterator<char>(in), {}};

  for (const auto& [section, table] : key_tables()) {
    const std::string block = "<!-- keys of " + section + " -->\n" + table + "<!-- end of keys -->\n";
    EXPECT_NE(document.find(block), std::string::npos)
        << "docs/decks.md differs in the keys of " << section << ": run scripts/update_docs.py";
  }
  std::size_t num_blocks = 0;
  for (std::size_t at = document.find("<!-- keys of "); at != std::string::npos; ++num_blocks)
    at = document.find("<!-- keys of ", at + 1);
  EXPECT_EQ(num_blocks, key_tables().size());
}

TEST(KeyHelp, SaysTypeDefaultEffectAndTask) {
  EXPECT_EQ(key_help("model.width"),
            "model.width (work, task image only)\n"
            "    number, 0.05 ≤ x ≤ 10; default 1\n"
            "    multiplies the channels of every layer; mobilenet_v2 only\n");
  EXPECT_NE(key_help("precision").find("    fp64, fp32, tf32, fp16, bf16; default fp32;"), std::string::npos);
  EXPECT_NE(key_help("precision").find("(speed, fixed)"), std::string::npos);
}

TEST(KeyHelp, FindsKeysByWhatTheyDo) {
  const std::string about_batches = key_help("batch");

  EXPECT_NE(about_batches.find("run.global_batch "), std::string::npos);
  EXPECT_NE(about_batches.find("data.prefetch "), std::string::npos);
  EXPECT_EQ(about_batches.find("optimizer.eps "), std::string::npos);
  EXPECT_NE(key_help("lora rank").find("method.rank "), std::string::npos);
  EXPECT_EQ(key_help("no such thing"), "");
}

}  // namespace
}  // namespace multicard
