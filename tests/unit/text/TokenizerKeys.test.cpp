#include "text/tokenizer/TokenizerKeys.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"

namespace multicard {
namespace {

using nlohmann::json;

bool names(const std::vector<std::string>& remarks, const std::string& key) {
  return std::any_of(remarks.begin(), remarks.end(),
                     [&](const std::string& remark) { return remark.starts_with("t.json: " + key + " is not read"); });
}

TEST(TokenizerKeys, AreLookedForInAllPartsOfTheFile) {
  const auto token = [](int id) { return json{{"id", id}, {"content", "x"}, {"color", "red"}}; };
  const json file = {{"version", "1.0"},
                     {"truncation", nullptr},
                     {"model", {{"type", "BPE"}, {"vocab", json::object()}, {"fuse_unkown", true}}},
                     {"added_tokens", {token(1), token(2)}},
                     {"normalizer", {{"type", "Sequence"}, {"normalizers", {{{"type", "Prepend"}, {"prepent", "_"}}}}}},
                     {"decoder", {{"type", "ByteLevel"}, {"trim_offsets", false}, {"use_regex", true}}}};

  const std::vector<std::string> found = left_out_of_tokenizer(file, "t.json");

  EXPECT_EQ(found.size(), 3) << "each once";
  EXPECT_TRUE(names(found, "model.fuse_unkown"));
  EXPECT_TRUE(names(found, "added_tokens.color"));
  EXPECT_TRUE(names(found, "normalizer.normalizers.prepent"));
}

TEST(TokenizerKeys, OfTheOtherFilesAreNamedOrRefused) {
  EXPECT_TRUE(left_out_of_token_config({{"bos_token", "<s>"}, {"model_max_length", 1e30}, {"legacy", false}}, "t.json")
                  .empty());
  EXPECT_TRUE(names(left_out_of_token_config({{"bos_tokne", "<s>"}}, "t.json"), "bos_tokne"));
  EXPECT_TRUE(names(left_out_of_token_map({{"of_tomorrow", "<s>"}}, "t.json"), "of_tomorrow"));
  EXPECT_THROW(left_out_of_token_config({{"split_special_tokens", true}}, "t.json"), DataError);
  EXPECT_TRUE(left_out_of_token_config(json::array(), "t.json").empty());
}

}  // namespace
}  // namespace multicard
