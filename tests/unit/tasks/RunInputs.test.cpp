#include "tasks/setup/RunInputs.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "support/expect_error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::message_of;

class RunInputs : public testing::Test {
 protected:
  RunInputs() { std::ofstream(folder_ / "a.h5") << "rows"; }

  /// The options of a deck whose SCRATCH is the folder.
  RunOptions options(std::string text) const {
    for (std::size_t at = text.find("SCRATCH"); at != std::string::npos; at = text.find("SCRATCH"))
      text.replace(at, 7, folder_.path().string());
    return read_run_options(Deck::parse(text, "d.yaml"));
  }

  std::string complaint(const std::string& text) const {
    return message_of<DataError>([&] { check_inputs(options(text)); });
  }

  test::ScratchFolder folder_;
};

TEST_F(RunInputs, ThatAreThereAreNotComplainedAbout) {
  EXPECT_NO_THROW(check_inputs(options("data: {train: SCRATCH/*.h5, test: SCRATCH/a.h5}")));
}

TEST_F(RunInputs, APatternThatMatchesNothingIsNamed) {
  EXPECT_EQ(complaint("data: {train: SCRATCH/b*.h5}").rfind("no file matches " + (folder_ / "b*.h5"), 0), 0U);
  EXPECT_NE(complaint("data: {train: SCRATCH/a.h5, test: SCRATCH/c*.h5}").find("c*.h5"), std::string::npos);
}

TEST_F(RunInputs, AModelFolderThatIsNotOneIsNamed) {
  const std::string data = "task: llm\ndata: {train: SCRATCH/a.h5}\n";
  EXPECT_NE(complaint(data + "model: {path: SCRATCH/none}").find("none/config.json cannot be read"), std::string::npos);
  const std::string model = test::source_path("tests/data/models/tinystories-656K").string();
  EXPECT_NO_THROW(check_inputs(options(data + "model: {path: " + model + "}")));
  EXPECT_NE(complaint(data + "model: {path: " + model + ", adapter: SCRATCH/none}").find("none"), std::string::npos);
}

TEST_F(RunInputs, RandomWeightsNeedNoFiles) {
  const std::string model = test::source_path("inputs/llm/llama3_8b_shape").string();
  const std::string deck = "task: llm\ndata: {train: SCRATCH/a.h5}\nmodel: {path: " + model;
  EXPECT_NO_THROW(check_inputs(options(deck + ", random_weights: true}")));
  EXPECT_NE(complaint(deck + "}").find("llama3_8b_shape"), std::string::npos);
}

}  // namespace
}  // namespace multicard
