#include "generation/Questions.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

const std::string kFolder = test::source_path("tests/data/models/tinystories-656K").string();

TEST(FinalNumber, IsTheOneAfterTheLastMark) {
  EXPECT_EQ(final_number("3 + 15 = 18\n#### 18"), "18");
  EXPECT_EQ(final_number("#### 3\nno: #### 4, not 5"), "4");
  EXPECT_EQ(final_number("####-1,234.50 euros"), "-1234.5");
  EXPECT_EQ(final_number("#### $70,000."), "70000");
}

TEST(FinalNumber, IsTheLastOfTheTextWithoutAMark) {
  EXPECT_EQ(final_number("First 3, then it is $18.00."), "18");
  EXPECT_EQ(final_number("He has 12 and then #### none"), "12");
  EXPECT_EQ(final_number("16-3-4=9"), "9");
  EXPECT_EQ(final_number("from 20-30"), "30");  // no sign: something stands before it
  EXPECT_EQ(final_number("it falls by -0.50"), "-0.5");
  EXPECT_EQ(final_number("about .5"), "0.5");
  EXPECT_EQ(final_number("007.0"), "7");
  EXPECT_EQ(final_number("-0.0"), "0");
  EXPECT_EQ(final_number("version 1.2.3"), "3");
  EXPECT_EQ(final_number("12345678901234567890"), "12345678901234567890");
}

TEST(FinalNumber, IsNothingWhereNoNumberIs) {
  EXPECT_EQ(final_number(""), std::nullopt);
  EXPECT_EQ(final_number("none. - $ , ####"), std::nullopt);
}

/// Questions in a file that rank 0 writes, read by all.
class QuestionFile : public testing::Test {
 protected:
  QuestionFile() : prompter_(kFolder, "alpaca"), config_(LlamaConfig::read(kFolder)) {}

  QuestionOptions file_of(const std::vector<std::string>& lines) const {
    if (world().is_root()) {
      std::ofstream out(scratch_ / "questions.jsonl");
      for (const std::string& line : lines)
        out << line << "\n";
    }
    world().barrier();
    QuestionOptions options;
    options.file = scratch_ / "questions.jsonl";
    options.max_new = 12;
    return options;
  }

  Questions open(const QuestionOptions& options) const { return {options, prompter_, config_, world()}; }

  std::string error_of(const QuestionOptions& options) const {
    try {
      open(options);
    } catch (const Error& error) {
      EXPECT_EQ(error.scope(), Scope::all_ranks);
      return std::to_string(static_cast<int>(error.code())) + ": " + error.what();
    }
    return "none";
  }

  ScratchFolder scratch_;
  Prompter prompter_;
  LlamaConfig config_;
};

TEST_F(QuestionFile, AnswersThatEndWithTheNumberCountOverAllRanks) {
  const Questions questions =
      open(file_of({R"({"question": "one", "answer": "#### 1"})",
                    R"({"question": "two", "answer": "1 and 1: <<1+1=2>>2\n#### 2.0"})",
                    R"({"question": "three", "answer": "#### 3"})", R"({"question": "four", "answer": "#### 1,004"})",
                    R"({"question": "five", "answer": "#### 5"})"}));
  // Says what each question names, but three and five.
  const auto answer = [&](const std::vector<TokenId>& prompt) -> std::string {
    const std::string question = prompter_.tokenizer()->decode(prompt, DecodeSpecial::skip);
    if (question.find("one") != std::string::npos) return "It is 7.\n#### 1 apple, not 2";
    if (question.find("two") != std::string::npos) return "1 + 1 makes $2.00.";
    if (question.find("three") != std::string::npos) return "#### 3.1";
    return question.find("four") != std::string::npos ? "1,004" : "none";
  };
  const auto answers = [&](const EncodedPrompts& prompts, std::int64_t max_new) {
    EXPECT_EQ(max_new, 12);
    std::vector<std::string> texts;
    std::transform(prompts.begin(), prompts.end(), std::back_inserter(texts), answer);
    return texts;
  };

  const QuestionScore score = questions.score(answers, world());

  EXPECT_EQ(questions.size(), 5);
  EXPECT_EQ(score.num_questions, 5);
  EXPECT_EQ(score.num_right, 3);
  EXPECT_DOUBLE_EQ(score.exact_match(), 0.6);
  EXPECT_EQ(score.text(), "0.6 (3 of 5 questions)");
}

TEST_F(QuestionFile, RanksWithoutAQuestionWaitForTheOthers) {
  QuestionOptions options =
      file_of({R"({"question": "a", "answer": "#### 1"})", R"({"question": "b", "answer": "no"})"});
  options.limit = 1;  // the second is not even looked at

  const auto always = [](const EncodedPrompts& prompts, std::int64_t) {
    return std::vector<std::string>(prompts.size(), "1");
  };
  const QuestionScore score = open(options).score(always, world());

  EXPECT_EQ(score.num_questions, 1);
  EXPECT_EQ(score.num_right, 1);
}

TEST_F(QuestionFile, AnErrorOfOneRankReachesAll) {
  const Questions questions = open(file_of({R"({"question": "a", "answer": "#### 1"})"}));
  const auto broken = [](const EncodedPrompts& prompts, std::int64_t) -> std::vector<std::string> {
    if (prompts.empty()) return {};
    throw DataError("no answer");
  };

  EXPECT_THROW(questions.score(broken, world()), Error);
}

TEST_F(QuestionFile, AWrongLineIsNamed) {
  const std::string good = R"({"question": "a", "answer": "#### 1"})";

  EXPECT_NE(
      error_of(file_of({good, good, R"({"question": "b", "answer": "it is 4"})"})).find("4: the answer of line 3"),
      std::string::npos);
  EXPECT_NE(error_of(file_of({good, R"({"answer": "#### 4"})"})).find("line 2"), std::string::npos);
  EXPECT_NE(error_of(file_of({good, "{"})).find("line 2"), std::string::npos);
  EXPECT_NE(error_of(file_of({})).find("holds no records"), std::string::npos);
}

TEST_F(QuestionFile, QuestionsTooLongForTheModelAreRefused) {
  QuestionOptions options = file_of({R"({"question": "a", "answer": "#### 1"})"});
  options.max_new = 100'000;

  EXPECT_NE(error_of(options).find("lower evaluate.questions.max_new"), std::string::npos);
}

}  // namespace
}  // namespace multicard
