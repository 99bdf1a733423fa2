#pragma once
/// \file What tests of the layouts of records share: an encoder with a tokenizer of bytes, and texts with their
/// targets.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "prepare/records/RecordEncoder.hpp"
#include "support/test_world.hpp"
#include "unit/data/test_tokenizer.hpp"

namespace multicard::test {

class RecordEncoderTest : public testing::Test {
 protected:
  RecordEncoderTest() {
    write_byte_tokenizer(scratch_ / "model");
    tokenizer_ = Tokenizer::load(scratch_ / "model");
  }

  EncodedRecord encode(DatasetType type, const std::string& prompt_template, const std::string& json,
                       LossOn loss = LossOn::completion) const {
    std::optional<PromptTemplate> chosen;
    if (!prompt_template.empty()) chosen = PromptTemplate::named(prompt_template);
    return RecordEncoder(type, tokenizer_, chosen, loss).encode_json(json, "line 7 of x.jsonl");
  }
  std::string sequence(DatasetType type, const std::string& prompt_template, const std::string& json,
                       LossOn loss = LossOn::completion) const {
    const EncodedText text = encode(type, prompt_template, json, loss).sequence;
    return shown(Sequence{text.ids, text.loss_mask});
  }
  std::pair<std::string, std::string> pair(const std::string& prompt_template, const std::string& json) const {
    const EncodedRecord record = encode(DatasetType::preference, prompt_template, json);
    return {shown(Sequence{record.sequence.ids, record.sequence.loss_mask}),
            shown(Sequence{record.rejected.value().ids, record.rejected->loss_mask})};
  }
  void expect_error(DatasetType type, const std::string& json, const std::string& text) const {
    const bool has_template = type != DatasetType::tokens && type != DatasetType::text;
    try {
      encode(type, has_template ? "chatml" : "", json);
      ADD_FAILURE() << "no error for " << json;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find("line 7 of x.jsonl"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }

  ScratchFolder scratch_;
  std::shared_ptr<const Tokenizer> tokenizer_;
};

using Pair = std::pair<std::string, std::string>;
inline const std::string kUser = "<|im_start|>user\n", kAssistant = "<|im_start|>assistant\n", kEnd = "<|im_end|>\n";

/// One turn of chatml whose answer is a target.
inline std::string turn(const std::string& question, const std::string& answer) {
  return kUser + question + kEnd + kAssistant + "[[" + answer + "<|im_end|>]]\n";
}
inline std::string masked_turn(const std::string& question, const std::string& answer) {
  return kUser + question + kEnd + kAssistant + answer + kEnd;
}

}  // namespace multicard::test
